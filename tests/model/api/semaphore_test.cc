// SPDX-License-Identifier: MIT
// api/semaphore.cc and sched/wait/wait_queue.h as they ship.
//
// mutant: waits_without_saying_so in api/semaphore.cc, caught by permits_are_neither_lost_nor_doubled
//   -           if (state_.compare_exchange_weak(state, take ? state - kOne : state | kWaiting, std::memory_order_acq_rel))
//   +           if (state_.compare_exchange_weak(state, take ? state - kOne : state, std::memory_order_acq_rel))
// mutant: adds_a_permit_that_was_handed_over in api/semaphore.cc, caught by permits_are_neither_lost_nor_doubled
//   -     if (n == 0) break;
//   +     if (n == 0) n = 1;
// mutant: forgets_those_who_still_wait in api/semaphore.cc, caught by permits_are_neither_lost_nor_doubled
//   -     if (queue.list.empty()) state_.fetch_and(~kWaiting, std::memory_order_acq_rel);  // pairs: semaphore.state
//   -     queue.lock.unlock();
//   -     if (n == 0) break;
//   +     state_.fetch_and(~kWaiting, std::memory_order_acq_rel);
//   +     queue.lock.unlock();
//   +     if (n == 0) break;
#include "weft/semaphore.h"

#include "model/api/world.h"

namespace weft::model {
namespace {

constexpr std::int64_t kSoon = 1'000'000;
constexpr std::ptrdiff_t kMost = 8;

// One permit goes round: mutual exclusion, and what was done before a release is seen after the acquire.
template <bool AsThread>
struct GoingRound : ApiSimulation<3> {
  detail::semaphore_core permits{1, kMost};
  rl::var<unsigned> count{0};
  void prepare() override { world.is_thread[0] = AsThread; }
  void act(unsigned) override {
    RL_ASSERT(permits.acquire(os::kForever));
    count(RL_INFO) = count(RL_INFO).load() + 1;
    permits.release(1, kMost);
  }
  void after() override {
    RL_ASSERT(count(RL_INFO).load() == 3);
    RL_ASSERT(permits.try_acquire() && !permits.try_acquire());
  }
};

// Two permits at once for two who wait, one of them with a time limit: what is not taken stays.
struct TwoAtOnce : ApiSimulation<3, true> {
  detail::semaphore_core permits{0, kMost};
  bool in_time = false;
  void act(unsigned id) override {
    if (id == 0) {
      in_time = permits.acquire(kSoon);
    } else if (id == 1) {
      RL_ASSERT(permits.acquire(os::kForever));
    } else {
      permits.release(2, kMost);
    }
  }
  void after() override {
    RL_ASSERT(permits.try_acquire() == !in_time);
    RL_ASSERT(!permits.try_acquire());
  }
};

TEST(SemaphoreModel, permits_are_neither_lost_nor_doubled) {
  EXPECT_TRUE(judge<GoingRound<false>>(random_search(30'000)));
}
TEST(SemaphoreModel, permits_are_neither_lost_nor_doubled_on_threads) {
  EXPECT_TRUE(judge<GoingRound<true>>(random_search(30'000)));
}
TEST(SemaphoreModel, a_time_limit_and_a_release_compete) { EXPECT_TRUE(judge<TwoAtOnce>(random_search(30'000))); }

TEST(SemaphoreModel, finds_a_release_without_order) {
  EXPECT_TRUE(is_caught_with<GoingRound<false>>({"semaphore_core::release", Fault::kUnordered}, random_search(30'000)));
}

}  // namespace
}  // namespace weft::model
