// SPDX-License-Identifier: MIT
// Parking without a hook after the switch: a goroutine publishes itself and then leaves its stack, and whoever makes it run
// again waits for sp (goroutine.h). The steps are those of park(), ready(), try_take_context() and take_context() in
// sched/core/dispatch.cc (but for who gives up waiting and puts the goroutine back: it has changed nothing); the store of sp is
// weft_switch_context's.
#include "sched/queue/run_queue.h"

#include "model/relacy_atomics.h"

namespace weft::model {
namespace {

template <class Mutation>
struct Goroutine {
  RelacyAtom<unsigned, Mutation> sp{0};  // 0: running, or on its way out
  rl::var<unsigned> stack;               // everything on its stack, the saved registers included

  // Goes on where it is.
  void run() { stack(RL_INFO) = stack(RL_INFO).load() + 1; }
  // The switch: registers to the stack, then sp.
  void save() {
    run();
    sp.store_release(1);
  }
  bool try_take() {
    if (sp.load_acquire() == 0) return false;
    sp.store_relaxed(0);
    return true;
  }
  void take() {
    while (!try_take()) rl::yield(1, RL_INFO);
  }
};

// A goroutine parks on one M and is made ready at once on another, and then the other way round.
template <class Mutation, bool Waits>
struct ParkAndReady : Simulation<2> {
  Goroutine<Mutation> g;
  sched::RunQueue<unsigned, 2, RelacyAtomics<>> published[2];  // where the M named will find it

  void before() override { g.stack(RL_INFO) = 0; }

  void park_for(unsigned m) {
    g.run();
    RL_ASSERT(published[m].push(1));
    g.save();
  }
  void resume_on(unsigned m) {
    unsigned found = 0;
    while (published[m].pop_half(&found, 1) == 0) rl::yield(1, RL_INFO);
    if (Waits) g.take();
    g.run();
  }
  void thread(unsigned m) override {
    if (m == 0) {
      park_for(1);
      resume_on(0);
    } else {
      resume_on(1);
      park_for(0);
    }
  }
  void after() override { RL_ASSERT(g.stack(RL_INFO).load() == 6); }
};

enum class WaitsOn { kSystemStack, kOwnStack };

// Two Ms, each leaving its goroutine for the other's, both published and neither saved yet.
template <WaitsOn Where>
struct LeavingForEachOther : Simulation<2> {
  Goroutine<Faithful> g[2];
  RelacyAtom<unsigned> published[2];

  void before() override {
    for (auto& each : g) each.stack(RL_INFO) = 0;
  }
  void thread(unsigned m) override {
    Goroutine<Faithful>& own = g[m];
    Goroutine<Faithful>& target = g[1 - m];
    own.run();
    published[m].store_release(1);
    while (published[1 - m].load_acquire() == 0) rl::yield(1, RL_INFO);
    if (Where == WaitsOn::kOwnStack) {
      target.take();
      own.save();
    } else if (target.try_take()) {
      own.save();
    } else {  // to g0, which saves it
      own.save();
      target.take();
    }
    target.run();
  }
  void after() override {
    for (auto& each : g) RL_ASSERT(each.stack(RL_INFO).load() == 3);
  }
};

TEST(ParkReadyModel, resumes_a_goroutine_only_when_its_stack_is_left) {
  EXPECT_TRUE((holds<ParkAndReady<Faithful, true>>(random_search(200'000))));
}
TEST(ParkReadyModel, lets_two_goroutines_leave_for_each_other) {
  EXPECT_TRUE(holds<LeavingForEachOther<WaitsOn::kSystemStack>>(random_search(200'000)));
  EXPECT_TRUE(holds<LeavingForEachOther<WaitsOn::kSystemStack>>(bounded_search(2)));
}

TEST(ParkReadyModel, finds_a_switch_that_stores_sp_without_release) {
  EXPECT_TRUE((is_caught<ParkAndReady<WithoutRelease, true>>(random_search(20'000), kWrongResult)));
}
TEST(ParkReadyModel, finds_a_resume_that_does_not_wait_for_sp) {
  EXPECT_TRUE((is_caught<ParkAndReady<Faithful, false>>(random_search(20'000), kWrongResult)));
}
TEST(ParkReadyModel, finds_two_goroutines_that_wait_for_each_other_on_their_own_stacks) {
  EXPECT_TRUE(is_caught<LeavingForEachOther<WaitsOn::kOwnStack>>(random_search(20'000), {rl::test_result_livelock}));
}

}  // namespace
}  // namespace weft::model
