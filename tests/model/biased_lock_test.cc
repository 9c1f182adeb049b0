// SPDX-License-Identifier: MIT
// sched/biased_lock.h under relacy: locks that become a thread's own after each streak, and others who want them.
#include "sched/biased_lock.h"

#include "model/relacy_atomics.h"

namespace weft::model {
namespace {

constexpr unsigned kMostThreads = 3;

// A barrier in every thread, asked for by one, as the kernel has it: each of the others passes it at some point between two of its accesses, and
// who asks goes on when all have.
class ProcessBarrier {
 public:
  explicit ProcessBarrier(unsigned threads) : threads_(threads) {}

  void ask() {
    const unsigned me = rl::thread_index();
    for (unsigned other = 0; other < threads_; ++other) {
      if (other == me) continue;
      wires_[me][other].fetch_add_acq_rel(1);
      wanted_[me][other] = true;
    }
    for (unsigned other = 0; other < threads_; ++other) {
      while (wanted_[me][other] && !ended_[other]) {
        pass();
        rl::yield(1, RL_INFO);
      }
      wires_[me][other].fetch_add_acq_rel(0);
      if (ended_[other]) wires_[other][other].fetch_add_acq_rel(0);
      wanted_[me][other] = false;
    }
  }
  // Between two accesses of any thread.
  void maybe_pass() {
    if (rl::rand(2) == 0) pass();
  }
  void pass() {
    const unsigned me = rl::thread_index();
    if (me >= threads_) return;  // before and after the simulation
    for (unsigned asker = 0; asker < threads_; ++asker) {
      if (!wanted_[asker][me]) continue;
      wires_[asker][me].fetch_add_acq_rel(1);
      wanted_[asker][me] = false;
    }
  }
  // A thread that has ended holds nothing back.
  void end() {
    const unsigned me = rl::thread_index();
    wires_[me][me].fetch_add_acq_rel(1);
    ended_[me] = true;
  }

 private:
  const unsigned threads_;
  bool wanted_[kMostThreads][kMostThreads] = {};  // the kernel's: no memory of the model
  bool ended_[kMostThreads] = {};
  RelacyAtom<unsigned> wires_[kMostThreads][kMostThreads];
};
inline ProcessBarrier* barrier;  // of this execution

template <class Mutation>
struct InterruptedAtomics {
  template <class T>
  class atom {
    using Where = std::source_location;

   public:
    atom() = default;
    atom(T initial) : value_(initial) {}  // NOLINT(google-explicit-constructor): as std::atomic
    T load_relaxed(Where at = Where::current()) const { return barrier->maybe_pass(), value_.load_relaxed(at); }
    T load_acquire(Where at = Where::current()) const { return barrier->maybe_pass(), value_.load_acquire(at); }
    void store_relaxed(T v, Where at = Where::current()) { barrier->maybe_pass(), value_.store_relaxed(v, at); }
    void store_release(T v, Where at = Where::current()) { barrier->maybe_pass(), value_.store_release(v, at); }
    T exchange_acquire(T v, Where at = Where::current()) {
      return barrier->maybe_pass(), value_.exchange_acquire(v, at);
    }

   private:
    RelacyAtom<T, Mutation> value_;
  };
};

// The last thread may be one without a number.
template <class Mutation, int Threads, bool HasStranger>
struct Owners {
  using Owner = sched::BasicLockOwner<InterruptedAtomics<Mutation>>;
  struct BackOff {
    void wait() {
      barrier->pass();
      rl::yield(1, RL_INFO);
    }
  };
  static constexpr std::uint8_t kLookEvery = 1, kStreak = 1;  // as soon as can be

  static inline Owner* owners;  // of this execution

  static Owner* self() {
    const unsigned id = rl::thread_index();
    return HasStranger && id == Threads - 1 ? nullptr : &owners[id];
  }
  static const Owner* find(typename Owner::Habit biased) { return &owners[Owner::number_of(biased) - 1]; }
  static bool may_bias() { return rl::rand(4) != 0; }
  static void light_fence() {}
  static void heavy_fence() {
    if constexpr (Mutation::kFences) barrier->ask();
  }
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
