// SPDX-License-Identifier: MIT
// api/mutex.cc as it ships: barging, spinning, queueing, the hand-over to one that has waited long, time limits. The clock of the
// model may jump by more than the millisecond that makes a waiter impatient whenever it is read.
//
// mutant: frees_the_lock_it_hands_over in api/mutex.cc, caught by one_at_a_time_and_everybody_gets_it
//   -     std::uint32_t desired = hand_over ? state : state & ~kLocked;
//   +     std::uint32_t desired = state & ~kLocked;
// mutant: does_not_hand_over_the_lock_it_keeps in api/mutex.cc, caught by one_at_a_time_and_everybody_gets_it
//   -   next->success = hand_over;
//   +   next->success = false;
// mutant: queues_without_counting_itself in api/mutex.cc, caught by one_at_a_time_and_everybody_gets_it
//   -       } else if (state_.compare_exchange_weak(state, (state + kOneWaiter) | (impatient ? kHandOver : 0),
//   -                                               std::memory_order_acq_rel)) {  // pairs: mutex.state
//   +       } else {
// mutant: counts_itself_after_the_lock_was_freed in api/mutex.cc, caught by one_at_a_time_and_everybody_gets_it
//   -       if ((state & kLocked) == 0) {
//   +       if (false) {
// mutant: unlocks_without_waking in api/mutex.cc, caught by one_at_a_time_and_everybody_gets_it
//   -   if (next == nullptr) return;
//   +   if (next == nullptr || !hand_over) return;
// mutant: leaves_the_hand_over_bit_behind in api/mutex.cc, caught by one_at_a_time_and_everybody_gets_it
//   -       desired &= kLocked;  // nobody is left: no hand-over, no count (timed-out waiters left by themselves)
//   +       desired &= ~std::uint32_t{0};
#include "weft/mutex.h"

#include "model/api/world.h"

namespace weft::model {
namespace {

// Access to the slow path with a deadline of the model's clock.
struct Lock : mutex {
  bool lock_until(std::int64_t deadline_ns) { return try_lock() || lock_slow(deadline_ns); }
};

constexpr std::int64_t kSoon = 1'000'000;

template <int Threads, bool HasClock = false>
struct Guarded : ApiSimulation<Threads, HasClock> {
  Lock lock;
  rl::var<unsigned> count{0};
  unsigned inside = 0, expected = 0;  // the simulation's own knowledge

  void critical_section() {
    RL_ASSERT(inside++ == 0);
    ++expected;
    count(RL_INFO) = count(RL_INFO).load() + 1;
    RL_ASSERT(--inside == 0);
    lock.unlock();
  }
  void after() override {
    RL_ASSERT(count(RL_INFO).load() == expected);
    RL_ASSERT(lock.try_lock());  // nothing is left of those who waited, or the hand-over bit would forbid it
    lock.unlock();
  }
};

template <int Threads, int Rounds, bool LastIsThread>
struct Contended : Guarded<Threads> {
  void prepare() override { this->world.is_thread[Threads - 1] = LastIsThread; }
  void act(unsigned) override {
    for (int i = 0; i < Rounds; ++i) {
      this->lock.lock();
      this->critical_section();
    }
  }
};

TEST(MutexModel, one_at_a_time_and_everybody_gets_it) {
  EXPECT_TRUE((judge<Contended<3, 1, false>>(random_search(30'000))));
}
TEST(MutexModel, one_at_a_time_again_and_again) {
  EXPECT_TRUE((judge<Contended<2, 3, false>>(random_search(30'000))));
  EXPECT_TRUE((judge<Contended<3, 2, true>>(random_search(30'000))));
}

// Some give up.
template <bool AsThread>
struct WithTimeLimits : Guarded<3, true> {
  void prepare() override { world.is_thread[0] = AsThread; }
  void act(unsigned id) override {
    if (id == 2) {
      lock.lock();
    } else if (!lock.lock_until(kSoon)) {
      return;
    }
    critical_section();
  }
};

TEST(MutexModel, a_time_limit_leaves_the_state_clean) {
  EXPECT_TRUE(judge<WithTimeLimits<false>>(random_search(30'000)));
}
TEST(MutexModel, a_threads_time_limit_leaves_the_state_clean) {
  EXPECT_TRUE(judge<WithTimeLimits<true>>(random_search(30'000)));
}

TEST(MutexModel, finds_an_unlock_without_release) {
  EXPECT_TRUE((is_caught_with<Contended<2, 1, false>>({"mutex::unlock()", Fault::kUnordered}, random_search(30'000))));
}
TEST(MutexModel, finds_a_lock_without_acquire) {
  EXPECT_TRUE((is_caught_with<Contended<2, 1, false>>({"mutex::lock()", Fault::kUnordered}, random_search(30'000))));
}
TEST(MutexModel, finds_a_registration_that_does_not_see_the_unlock) {
  EXPECT_TRUE((is_caught_with<Contended<2, 1, false>>({"mutex::lock_slow", Fault::kSplit}, random_search(30'000))));
}
TEST(MutexModel, finds_an_unlock_that_does_not_see_the_registration) {
  EXPECT_TRUE((is_caught_with<Contended<2, 1, false>>({"mutex::unlock()", Fault::kSplit}, random_search(30'000))));
}

}  // namespace
}  // namespace weft::model
