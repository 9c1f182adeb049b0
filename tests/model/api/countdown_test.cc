// SPDX-License-Identifier: MIT
// api/countdown.cc and api/wait_group.cc as they ship: who waits is woken, and the wait group may go away as soon as a wait without a time limit has
// returned, also to one who has given up before.
//
// mutant: counts_before_it_locks in api/countdown.cc, caught by it_may_go_away_after_a_wait
//   -     queue.lock.lock();
//   -     if (state_.compare_exchange_strong(state, 0, std::memory_order_acq_rel,  // pairs: countdown.state
//   -                                        std::memory_order_relaxed)) {
//   +     if (state_.compare_exchange_strong(state, 0, std::memory_order_acq_rel,
//   +                                        std::memory_order_relaxed)) {
//   +       queue.lock.lock();
// mutant: does_not_look_whether_somebody_waits in api/countdown.cc, caught by all_are_woken
//   -     if (count > n || (state & kWaiting) == 0) {
//   +     if (true) {
// mutant: waits_without_saying_so in api/countdown.cc, caught by all_are_woken
//   -       !state_.compare_exchange_weak(state, state | kWaiting, std::memory_order_acq_rel));  // pairs: countdown.state
//   +       !state_.compare_exchange_weak(state, state, std::memory_order_acq_rel));
// mutant: takes_first_and_asks_later in api/countdown.cc, caught by misuse_is_seen_by_nobody_else
//   -     if (count < n) return false;
//   +     if (count < n) return state_.fetch_sub(n * kOne, std::memory_order_acq_rel), state_.fetch_add(n * kOne, std::memory_order_acq_rel), false;
// mutant: keeps_the_mark in api/countdown.cc, caught by it_may_go_away_after_a_wait
//   -   state_.fetch_and(~kWaiting, std::memory_order_acq_rel);  // pairs: countdown.state
//   +
#include "weft/wait_group.h"

#include "model/api/world.h"

namespace weft::model {
namespace {

constexpr auto kSoon = std::chrono::milliseconds(1);

template <bool AsThread>
struct AllWoken : ApiSimulation<3> {
  wait_group group;
  rl::var<unsigned> done{0};
  void prepare() override {
    world.is_thread[0] = AsThread;
    group.add();
  }
  void act(unsigned id) override {
    if (id == 2) {
      done(RL_INFO) = 1;
      group.done();
    } else {
      group.wait();
      RL_ASSERT(done(RL_INFO).load() == 1);
    }
  }
};

// Thread 0 has the group.
struct GoesAway : ApiSimulation<2, true> {
  wait_group* group = nullptr;
  void prepare() override {
    group = new wait_group;
    group->add();
  }
  void act(unsigned id) override {
    if (id == 1) return group->done();
    if (!group->wait_for(kSoon)) group->wait();
    delete group;
  }
};

// Misuse that somebody catches: the number was never below zero for anybody.
struct Misuse : ApiSimulation<2> {
  detail::countdown nothing{0};
  void act(unsigned id) override {
    if (id == 0) {
      RL_ASSERT(nothing.wait(sched::WaitReason::kLatch, this, os::kForever));
    } else {
      RL_ASSERT(!nothing.subtract(1) && !nothing.add(2, 1));
    }
  }
};

TEST(CountdownModel, all_are_woken) { EXPECT_TRUE(judge<AllWoken<false>>(random_search(30'000))); }
TEST(CountdownModel, all_are_woken_on_threads) { EXPECT_TRUE(judge<AllWoken<true>>(random_search(30'000))); }
TEST(CountdownModel, it_may_go_away_after_a_wait) { EXPECT_TRUE(judge<GoesAway>(random_search(60'000))); }
TEST(CountdownModel, misuse_is_seen_by_nobody_else) { EXPECT_TRUE(judge<Misuse>(random_search(30'000))); }

}  // namespace
}  // namespace weft::model
