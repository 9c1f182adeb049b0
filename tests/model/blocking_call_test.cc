// SPDX-License-Identifier: MIT
// The word of a P whose M is in a blocking call: it belongs to whoever wins the exchange. The steps are those of enter_call(),
// leave_call() and take_from_call() (sched/core/handoff.cc), sysmon's two looks (service/sysmon.cc) and acquire_processor().
#include "sched/model/processor.h"

#include "model/relacy_atomics.h"

namespace weft::model {
namespace {

using sched::Processor;
using sched::PStatus;

struct Words {
  static std::uint64_t in_call(std::uint32_t m, std::uint32_t call) {
    return Processor::make_word(PStatus::kInCall, m, call);
  }
};
struct WithoutCallNumber : Words {
  static std::uint64_t in_call(std::uint32_t m, std::uint32_t) { return Processor::make_word(PStatus::kInCall, m, 0); }
};
struct WithoutMachine : Words {
  static std::uint64_t in_call(std::uint32_t, std::uint32_t) { return Processor::make_word(PStatus::kInCall, 0, 0); }
};

// Neither the look nor the exchange that follows it.
struct WithoutAnyAcquire : WithoutOrderedCas {
  static constexpr rl::memory_order kLoadAcquire = rl::mo_relaxed;
};

// M 1 makes calls; sysmon takes its P away when two looks see the same one and gives it to M 2, which makes a call of its own;
// somebody who stops the world takes it at first sight.
template <class Mutation, class Word>
struct Calls : Simulation<3> {
  RelacyAtom<std::uint64_t, Mutation> word{Processor::make_word(PStatus::kRunning, 1, 0)};
  RelacyAtom<int> in_call{0};   // goroutines in calls whose P was taken away
  rl::var<unsigned> wired_to;   // Processor::m and all that only its owner touches
  unsigned calls_made[3] = {};  // the simulation's own knowledge
  unsigned stopped = 0;

  void before() override { wired_to(RL_INFO) = 1; }

  void thread(unsigned id) override {
    switch (id) {
      case 0: make_calls(1, 2); break;
      case 1: watch(); break;
      case 2: stop(); break;
    }
  }

  // Until the P is lost; a goroutine that has lost it goes to the global queue.
  void make_calls(std::uint32_t m, std::uint32_t calls) {
    for (std::uint32_t call = 1; call <= calls; ++call) {
      RL_ASSERT(wired_to(RL_INFO).load() == m);
      const std::uint64_t entered = Word::in_call(m, call);
      ++calls_made[m];
      word.store_release(entered);

      std::uint64_t expected = entered;
      if (!word.cas_acq_rel(expected, Processor::make_word(PStatus::kRunning, m, 0))) {
        in_call.fetch_add_relaxed(-1);
        return;
      }
    }
    RL_ASSERT(wired_to(RL_INFO).load() == m);
  }

  bool take_from_call(std::uint64_t seen) {
    in_call.fetch_add_relaxed(1);
    if (!word.cas_acq_rel(seen, Processor::make_word(PStatus::kIdle, 0, 0))) {
      in_call.fetch_add_relaxed(-1);
      return false;
    }
    wired_to(RL_INFO) = 0;
    return true;
  }

  void watch() {
    const std::uint64_t first = word.load_acquire();
    const unsigned calls_then = calls_made[1];
    if (Processor::status_of(first) != PStatus::kInCall) return;
    if (word.load_acquire() != first) return;
    if (!take_from_call(first)) return;
    RL_ASSERT(calls_made[1] == calls_then);  // it is the call that was seen twice
    wired_to(RL_INFO) = 2;
    word.store_release(Processor::make_word(PStatus::kRunning, 2, 0));
    make_calls(2, 1);
  }

  void stop() {
    for (int looks = 0; looks < 3 && stopped == 0; ++looks) {
      const std::uint64_t seen = word.load_acquire();
      if (Processor::status_of(seen) != PStatus::kInCall || !take_from_call(seen)) continue;
      word.store_release(Processor::make_word(PStatus::kStopped, 0, 0));
      stopped = 1;
    }
  }

  void after() override {
    RL_ASSERT(in_call.load_relaxed() == 0);
    const std::uint64_t last = word.load_relaxed();
    const bool is_stopped = Processor::status_of(last) == PStatus::kStopped;
    RL_ASSERT(is_stopped == (stopped == 1));
    RL_ASSERT(is_stopped || Processor::status_of(last) == PStatus::kRunning);
    RL_ASSERT(wired_to(RL_INFO).load() == (is_stopped ? 0 : (last >> 8) & 0xffffff));
  }
};

TEST(BlockingCallModel, gives_the_processor_to_one_of_those_who_want_it) {
  EXPECT_TRUE((holds<Calls<Faithful, Words>>(random_search(300'000))));
  EXPECT_TRUE((holds<Calls<Faithful, Words>>(bounded_search(3))));
}

TEST(BlockingCallModel, finds_a_return_that_mistakes_another_call_for_its_own) {
  EXPECT_TRUE((is_caught<Calls<Faithful, WithoutMachine>>(random_search(100'000), kWrongResult)));
}
TEST(BlockingCallModel, finds_a_call_taken_at_the_second_look_that_is_not_the_one_first_seen) {
  EXPECT_TRUE((is_caught<Calls<Faithful, WithoutCallNumber>>(random_search(100'000), kWrongResult)));
}
TEST(BlockingCallModel, finds_a_word_published_without_release) {
  EXPECT_TRUE((is_caught<Calls<WithoutRelease, Words>>(random_search(50'000), kWrongResult)));
}
TEST(BlockingCallModel, finds_a_word_taken_without_acquire) {
  EXPECT_TRUE((is_caught<Calls<WithoutAnyAcquire, Words>>(random_search(50'000), kWrongResult)));
}

}  // namespace
}  // namespace weft::model
