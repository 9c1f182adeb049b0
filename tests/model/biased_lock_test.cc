// SPDX-License-Identifier: MIT
// sched/bias/biased_lock.h under relacy: locks that become a thread's own after each streak, and others who want them.
#include "sched/bias/biased_lock.h"

#include "model/process_barrier.h"

namespace weft::model {
namespace {

// The last thread may be one without a number.
template <class Mutation, int Threads, bool HasStranger>
struct Owners : ModelFences<Mutation> {
  using Owner = sched::BasicLockOwner<InterruptedAtomics<Mutation>>;
  static constexpr std::uint8_t kStreak = 1;  // as soon as can be

  static inline Owner* owners;  // of this execution

  static Owner* self() {
    const unsigned id = rl::thread_index();
    return HasStranger && id == Threads - 1 ? nullptr : &owners[id];
  }
  static void note_meeting() {}
  static void note_use(Owner&) {}
  static int begin_wait() { return 0; }
  static void note_wait(int) {}
  static const Owner* find(typename Owner::Habit biased) { return &owners[Owner::number_of(biased) - 1]; }
};

template <class Mutation, int Threads, int Rounds, int Locks, bool HasStranger = false>
struct Users : Simulation<Threads> {
  using Those = Owners<Mutation, Threads, HasStranger>;
  struct Guarded {
    sched::BiasedLock<InterruptedAtomics<Mutation>, Those> lock;
    rl::var<unsigned> uses;
    unsigned expected = 0;
  };

  ProcessBarrier process{Threads};
  typename Those::Owner owners[Threads];
  Guarded guarded[Locks];

  Users() { barrier = &process; }
  void before() override {
    Those::owners = owners;
    for (int i = 0; i < Threads; ++i) owners[i].set_number(static_cast<std::uint32_t>(i + 1));
    for (Guarded& one : guarded) one.uses(RL_INFO) = 0;
  }

  void thread(unsigned) override {
    for (int round = 0; round < Rounds; ++round) {
      const unsigned first = rl::rand(Locks), end = first + 1 + rl::rand(Locks - first);
      for (unsigned i = first; i < end; ++i) take(guarded[i]);
      for (unsigned i = first; i < end; ++i) give_back(guarded[i]);
    }
    process.end();
  }
  void take(Guarded& one) {
    if (rl::rand(3) != 0 || !one.lock.try_lock_unranked()) one.lock.lock_unranked();
    RL_ASSERT(!one.lock.try_lock_unranked());
    one.uses(RL_INFO) = one.uses(RL_INFO) + 1;  // a race, or a use lost, if two are in here
    ++one.expected;
  }
  void give_back(Guarded& one) {
    if (rl::rand(3) != 0) {
      one.lock.unlock_counted_unranked();
    } else {
      one.lock.unlock_unranked();
    }
  }

  void after() override {
    for (Guarded& one : guarded) RL_ASSERT(one.uses(RL_INFO) == one.expected);
  }
};

template <class Mutation>
using Pair = Users<Mutation, 2, 3, 1>;
template <class Mutation>
using Crowd = Users<Mutation, 3, 3, 1>;
template <class Mutation>
using WithTwoLocks = Users<Mutation, 3, 3, 2>;
template <class Mutation>
using WithStranger = Users<Mutation, 3, 3, 2, true>;

TEST(BiasedLockModel, is_held_by_one_of_two_at_a_time) { EXPECT_TRUE(holds<Pair<Faithful>>(random_search(150'000))); }
TEST(BiasedLockModel, is_held_by_one_of_three_at_a_time) {
  EXPECT_TRUE(holds<Crowd<Faithful>>(random_search(100'000)));
}
TEST(BiasedLockModel, two_are_held_together) { EXPECT_TRUE(holds<WithTwoLocks<Faithful>>(random_search(100'000))); }
TEST(BiasedLockModel, is_held_by_one_at_a_time_beside_a_thread_that_can_own_nothing) {
  EXPECT_TRUE(holds<WithStranger<Faithful>>(random_search(100'000)));
}

TEST(BiasedLockModel, finds_a_revoker_without_a_barrier) {
  EXPECT_TRUE(is_caught<Crowd<WithoutFences>>(random_search(20'000), kWrongResult));
}
TEST(BiasedLockModel, finds_an_unlock_without_release) {
  EXPECT_TRUE(is_caught<Crowd<WithoutRelease>>(random_search(20'000), kWrongResult));
}
TEST(BiasedLockModel, finds_a_revoker_that_looks_without_acquire) {
  EXPECT_TRUE(is_caught<Crowd<WithoutAcquire>>(random_search(20'000), kWrongResult));
}

}  // namespace
}  // namespace weft::model
