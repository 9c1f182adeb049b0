// SPDX-License-Identifier: MIT
// api/mutex.cc as it ships: barging, spinning, queueing, the hand-over to one that has waited long, time limits. The clock of the
// model may jump by more than the millisecond that makes a waiter impatient whenever it is read.
//
// mutant: frees_the_lock_it_hands_over in api/mutex.cc, caught by one_at_a_time_and_everybody_gets_it
//   -     state |= kLocked;
//   +     state |= 0;
// mutant: does_not_hand_over_the_lock_it_keeps in api/mutex.cc, caught by one_at_a_time_and_everybody_gets_it
//   -   next->success = hand_over;
//   +   next->success = false;
// mutant: queues_without_saying_so in api/mutex.cc, caught by one_at_a_time_and_everybody_gets_it
//   -       } else if (state_.compare_exchange_weak(state, state | kWaiting | (impatient ? kHandOver : 0),
//   -                                               std::memory_order_acq_rel)) {  // pairs: mutex.state
//   +       } else {
// mutant: queues_although_the_lock_was_freed in api/mutex.cc, caught by one_at_a_time_and_everybody_gets_it
//   -       if (is_free(state)) {
//   +       if (false) {
// mutant: unlocks_without_waking in api/mutex.cc, caught by one_at_a_time_and_everybody_gets_it
//   -   sched::wake(next);
//   +   if (hand_over) sched::wake(next);
// mutant: forgets_those_who_still_wait in api/mutex.cc, caught by one_at_a_time_and_everybody_gets_it
//   -   std::uint32_t state = queue.list.empty() ? 0 : hand_over ? kWaiting | kHandOver : kWaiting | kOpen;
//   +   std::uint32_t state = 0;
// mutant: frees_it_before_it_leaves in api/mutex.cc, caught by it_may_go_away_with_the_last_who_needs_it
//   -     state_.store(kLeaving, std::memory_order_relaxed);
//   -     queue.lock.unlock();
//   +     state_.store(0, std::memory_order_release); queue.lock.unlock(); return;
// mutant: leaves_beside_one_that_has_queued in api/mutex.cc, caught by one_that_queues_while_another_leaves_is_served
//   -     if (state_.compare_exchange_strong(leaving, 0, std::memory_order_release, std::memory_order_relaxed))
//   +     if (state_.store(0, std::memory_order_release), leaving != 0)
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

// Each says under the lock, or having given up, that it needs the mutex no more; who says it last, and has had the lock since, ends
// the mutex.
struct GoesAway : ApiSimulation<3, true> {
  alignas(Lock) std::byte storage[sizeof(Lock)];
  Lock* lock = nullptr;
  unsigned users = 3;  // the simulation's own knowledge

  void prepare() override { lock = ::new (static_cast<void*>(storage)) Lock; }
  void act(unsigned id) override {
    bool has_it = true;
    if (id == 0)
      has_it = lock->lock_until(kSoon);
    else
      lock->lock();
    const bool is_last = --users == 0;
    if (is_last && !has_it) {
      lock->lock();
      has_it = true;
    }
    if (has_it) lock->unlock();
    if (is_last) lock->~Lock();
  }
};

TEST(MutexModel, it_may_go_away_with_the_last_who_needs_it) { EXPECT_TRUE(judge<GoesAway>(random_search(60'000))); }

// One gives up while another unlocks and a third comes.
TEST(MutexModel, one_that_queues_while_another_leaves_is_served) {
  EXPECT_TRUE(judge<WithTimeLimits<false>>(random_search(100'000)));
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
