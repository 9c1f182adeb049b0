// SPDX-License-Identifier: MIT
// sched/biased_lock.h under relacy: a lock that becomes a thread's own after each streak, and others who want it.
#include "sched/biased_lock.h"

#include "model/relacy_atomics.h"

namespace weft::model {
namespace {

// Threads with and without a number. The two fences are full ones: that is what a barrier in every thread amounts to for the one that has none.
template <class Mutation, int Threads, bool HasStranger>
struct Owners {
  using Atomics = RelacyAtomics<Mutation>;
  using Owner = sched::BasicLockOwner<Atomics>;
  struct BackOff {
    void wait() { rl::yield(1, RL_INFO); }
  };
  static constexpr std::uint8_t kLookEvery = 1, kStreak = 1;  // as soon as can be

  static inline Owner* owners;  // of this execution

  static Owner* self() {
    const unsigned id = rl::thread_index();
    return HasStranger && id == Threads - 1 ? nullptr : &owners[id];
  }
  static const Owner* find(typename Owner::Habit biased) { return &owners[Owner::number_of(biased) - 1]; }
  static bool may_bias() { return rl::rand(4) != 0; }
  static void light_fence() { Atomics::full_fence(); }
  static void heavy_fence() { Atomics::full_fence(); }
};

template <class Mutation, int Threads, int Rounds, bool HasStranger = false>
struct Users : Simulation<Threads> {
  using Lock = sched::BiasedLock<RelacyAtomics<Mutation>, Owners<Mutation, Threads, HasStranger>>;
  using Owner = sched::BasicLockOwner<RelacyAtomics<Mutation>>;

  Lock lock;
  Owner owners[Threads];
  rl::var<unsigned> uses;

  void before() override {
    Owners<Mutation, Threads, HasStranger>::owners = owners;
    for (int i = 0; i < Threads; ++i) owners[i].set_number(static_cast<std::uint32_t>(i + 1));
    uses(RL_INFO) = 0;
  }

  void thread(unsigned) override {
    for (int round = 0; round < Rounds; ++round) {
      if (rl::rand(3) != 0 || !lock.try_lock_unranked()) lock.lock_unranked();
      RL_ASSERT(!lock.try_lock_unranked());
      uses(RL_INFO) = uses(RL_INFO) + 1;  // a race, or a use lost, if two are in here
      if (rl::rand(3) != 0) {
        lock.unlock_counted_unranked();
      } else {
        lock.unlock_unranked();
      }
    }
  }

  void after() override { RL_ASSERT(uses(RL_INFO) == static_cast<unsigned>(Threads * Rounds)); }
};

template <class Mutation>
using Pair = Users<Mutation, 2, 3>;
template <class Mutation>
using Crowd = Users<Mutation, 3, 3>;
template <class Mutation>
using WithStranger = Users<Mutation, 3, 2, true>;

TEST(BiasedLockModel, is_held_by_one_of_two_at_a_time) { EXPECT_TRUE(holds<Pair<Faithful>>(random_search(300'000))); }
TEST(BiasedLockModel, is_held_by_one_of_three_at_a_time) {
  EXPECT_TRUE(holds<Crowd<Faithful>>(random_search(200'000)));
}
TEST(BiasedLockModel, is_held_by_one_at_a_time_beside_a_thread_that_can_own_nothing) {
  EXPECT_TRUE(holds<WithStranger<Faithful>>(random_search(200'000)));
}

TEST(BiasedLockModel, finds_an_owner_that_passes_no_barrier) {
  EXPECT_TRUE(is_caught<Crowd<WithoutFences>>(random_search(100'000), kWrongResult));
}
TEST(BiasedLockModel, finds_an_unlock_without_release) {
  EXPECT_TRUE(is_caught<Crowd<WithoutRelease>>(random_search(20'000), kWrongResult));
}
TEST(BiasedLockModel, finds_a_revoker_that_looks_without_acquire) {
  EXPECT_TRUE(is_caught<Crowd<WithoutAcquire>>(random_search(20'000), kWrongResult));
}

}  // namespace
}  // namespace weft::model
