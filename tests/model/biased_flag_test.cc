// SPDX-License-Identifier: MIT
// sched/bias/biased_flag.h under relacy: a flag that is one thread's own, and others who want to set it.
#include "sched/bias/biased_flag.h"

#include "model/process_barrier.h"
#include "sched/bias/lock_owner.h"

namespace weft::model {
namespace {

struct WithoutWindow : Faithful {};  // the taker does not look into the owner's window

// The last thread has no number.
template <class Mutation, int Threads>
struct Owners : ModelFences<Mutation> {
  using Owner = sched::BasicLockOwner<InterruptedAtomics<Mutation>>;

  static inline Owner* owners;  // of this execution; one more than there are threads, which owns nothing

  static Owner* self() {
    const unsigned id = rl::thread_index();
    return id == Threads - 1 ? nullptr : &owners[id];
  }
  static const Owner* find(typename Owner::Habit biased) {
    return std::is_same_v<Mutation, WithoutWindow> ? &owners[Threads] : &owners[Owner::number_of(biased) - 1];
  }
};

// Each thread sets some of the flags, in any order and perhaps twice, as long as it likes to.
template <class Mutation, int Threads, int Flags>
struct Setters : Simulation<Threads> {
  using Those = Owners<Mutation, Threads>;
  struct Decided {
    sched::BiasedFlag<InterruptedAtomics<Mutation>, Those> flag;
    rl::var<unsigned> by;     // written by who has set it: two who believe so race
    RelacyAtom<unsigned> firsts{0};
    bool tried = false;       // by anybody
  };

  ProcessBarrier process{Threads};
  typename Those::Owner owners[Threads + 1];
  Decided decided[Flags];

  Setters() { barrier = &process; }
  void before() override {
    Those::owners = owners;
    for (int i = 0; i < Threads; ++i) owners[i].set_number(static_cast<std::uint32_t>(i + 1));
    decided[0].flag.give_to(owners[0]);
    if constexpr (Flags > 1) {
      if (rl::rand(2) == 0) decided[1].flag.give_to(owners[1]);
    }
  }

  void thread(unsigned id) override {
    for (int round = 0; round < 2; ++round) {
      Decided& one = decided[rl::rand(Flags)];
      one.tried = true;
      if (one.flag.set()) {
        one.by(RL_INFO) = id;
        one.firsts.fetch_add_relaxed(1);
      }
      RL_ASSERT(one.flag.is_set());
    }
    process.end();
  }

  void after() override {
    for (Decided& one : decided) RL_ASSERT(one.firsts.debug_value() == (one.tried ? 1u : 0u));
  }
};

template <class Mutation>
using Pair = Setters<Mutation, 2, 1>;
template <class Mutation>
using Crowd = Setters<Mutation, 3, 1>;
template <class Mutation>
using WithTwoFlags = Setters<Mutation, 3, 2>;

TEST(BiasedFlagModel, is_set_by_one_of_two) { EXPECT_TRUE(holds<Pair<Faithful>>(random_search(150'000))); }
TEST(BiasedFlagModel, is_set_by_one_of_three) { EXPECT_TRUE(holds<Crowd<Faithful>>(random_search(150'000))); }
TEST(BiasedFlagModel, two_of_two_owners_are_set_once_each) {
  EXPECT_TRUE(holds<WithTwoFlags<Faithful>>(random_search(150'000)));
}

TEST(BiasedFlagModel, finds_a_taker_without_a_barrier) {
  EXPECT_TRUE(is_caught<Pair<WithoutFences>>(random_search(50'000), kWrongResult));
}
TEST(BiasedFlagModel, finds_a_taker_that_does_not_wait_for_the_window) {
  EXPECT_TRUE(is_caught<Pair<WithoutWindow>>(random_search(50'000), kWrongResult));
}
TEST(BiasedFlagModel, finds_a_cas_that_is_none) {
  EXPECT_TRUE(is_caught<Crowd<WithoutAtomicCas>>(random_search(50'000), kWrongResult));
}

}  // namespace
}  // namespace weft::model
