// SPDX-License-Identifier: MIT
// api/weighted_semaphore.cc, api/cancellable_wait.h and sched/wait/wait_queue.h as they ship.
//
// mutant: waits_without_saying_so in api/weighted_semaphore.cc, caught by permits_are_neither_lost_nor_doubled
//   -     if (state_.compare_exchange_weak(state, take ? state - n * kOne : state | kWaiting,
//   +     if (state_.compare_exchange_weak(state, take ? state - n * kOne : state,
// mutant: forgets_those_who_still_wait in api/weighted_semaphore.cc, caught by permits_are_neither_lost_nor_doubled
//   -   const std::uint64_t waiting = queue.list.empty() ? 0 : kWaiting;
//   +   const std::uint64_t waiting = 0;
// mutant: leaves_without_serving in api/weighted_semaphore.cc, caught by who_gives_up_lets_those_behind_it_through
//   -     if ((state_.load(std::memory_order_relaxed) & kWaiting) != 0) serve_front(0, &served);
//   +
// mutant: serves_although_nobody_waits in api/weighted_semaphore.cc, caught by a_time_limit_and_a_release_compete
//   -     if ((state_.load(std::memory_order_relaxed) & kWaiting) != 0) serve_front(0, &served);
//   +     serve_front(0, &served);
// mutant: gives_to_those_who_have_given_up in api/weighted_semaphore.cc, caught by a_time_limit_and_a_release_compete
//   -     if (front->choice != nullptr && !front->choice->fire(front)) continue;  // it has given up, and will leave
//   +     if (front->choice != nullptr) front->choice->fire(front);
// mutant: wakes_before_it_unlocks in api/weighted_semaphore.cc, caught by it_may_go_away_after_an_acquire
//   -     serve_front(returned, &served);
//   -     queue.lock.unlock();
//   -     sched::wake_all(served);
//   +     serve_front(returned, &served);
//   +     sched::wake_all(served);
//   +     queue.lock.unlock();
#include "weft/weighted_semaphore.h"

#include "model/api/model_context.h"

namespace weft::model {
namespace {

constexpr std::int64_t kSoon = 1'000'000;

// Two of three permits are for one at a time: mutual exclusion, and what was done before a release is seen after the
// acquire. Another takes one.
template <bool AsThread>
struct GoingRound : ApiSimulation<3> {
  detail::weighted_core permits{3};
  rl::var<unsigned> count{0};
  void prepare() override { world.is_thread[0] = AsThread; }
  void act(unsigned id) override {
    const std::int64_t n = id == 2 ? 1 : 2;
    RL_ASSERT(permits.acquire(n, os::kForever, nullptr));
    if (id != 2) count(RL_INFO) = count(RL_INFO).load() + 1;
    permits.release(n);
  }
  void after() override {
    RL_ASSERT(count(RL_INFO).load() == 2);
    RL_ASSERT(permits.try_acquire(3) && !permits.try_acquire(1));
  }
};

// One wants more than will ever be free, another waits behind it for what is.
struct GivingUp : ApiSimulation<2, true> {
  detail::weighted_core permits{3};
  void prepare() override { RL_ASSERT(permits.try_acquire(2)); }
  void act(unsigned id) override {
    if (id == 0) {
      RL_ASSERT(!permits.acquire(3, kSoon, nullptr));
    } else {
      RL_ASSERT(permits.acquire(1, os::kForever, nullptr));
    }
  }
  void after() override { RL_ASSERT(permits.available() == 0); }
};

struct Competing : ApiSimulation<3, true> {
  detail::weighted_core permits{2};
  void prepare() override { RL_ASSERT(permits.try_acquire(2)); }
  void act(unsigned id) override {
    if (id == 0) {
      if (permits.acquire(2, kSoon, nullptr)) permits.release(2);
    } else if (id == 1) {
      RL_ASSERT(permits.acquire(1, os::kForever, nullptr));
    } else {
      permits.release(2);
    }
  }
  void after() override { RL_ASSERT(permits.try_acquire(1) && !permits.try_acquire(1)); }
};

// A release, a cancellation, and perhaps a time limit end one wait.
template <bool AsThread, bool WithLimit>
struct Cancelling : ApiSimulation<3, WithLimit> {
  detail::weighted_core permits{2};
  ::std::pair<context, cancel_function> made = with_cancel(context::background());
  bool taken = false;
  void prepare() override {
    this->world.is_thread[0] = AsThread;
    RL_ASSERT(permits.try_acquire(2));
  }
  void act(unsigned id) override {
    if (id == 0) {
      taken = permits.acquire(2, WithLimit ? kSoon : os::kForever, &made.first);
    } else if (id == 1) {
      made.second();
    } else {
      permits.release(2);
    }
  }
  void after() override {
    RL_ASSERT(permits.try_acquire(2) == !taken);
    RL_ASSERT(!permits.acquire(0, os::kForever, &made.first));
  }
};

struct GoingAway : ApiSimulation<2> {
  ::std::optional<detail::weighted_core> permits{::std::in_place, 2};
  void prepare() override { RL_ASSERT(permits->try_acquire(2)); }
  void act(unsigned id) override {
    if (id == 0) {
      RL_ASSERT(permits->acquire(2, os::kForever, nullptr));
      permits.reset();
    } else {
      permits->release(2);
    }
  }
};

TEST(WeightedSemaphoreModel, permits_are_neither_lost_nor_doubled) {
  EXPECT_TRUE(judge<GoingRound<false>>(random_search(30'000)));
}
TEST(WeightedSemaphoreModel, permits_are_neither_lost_nor_doubled_on_threads) {
  EXPECT_TRUE(judge<GoingRound<true>>(random_search(30'000)));
}
TEST(WeightedSemaphoreModel, who_gives_up_lets_those_behind_it_through) {
  EXPECT_TRUE(judge<GivingUp>(random_search(30'000)));
}
TEST(WeightedSemaphoreModel, a_time_limit_and_a_release_compete) {
  EXPECT_TRUE(judge<Competing>(random_search(60'000)));
}
TEST(WeightedSemaphoreModel, a_cancellation_and_a_release_compete) {
  EXPECT_TRUE((judge<Cancelling<false, false>>(random_search(30'000))));
  EXPECT_TRUE((judge<Cancelling<true, false>>(random_search(30'000))));
}
TEST(WeightedSemaphoreModel, a_cancellation_a_time_limit_and_a_release_compete) {
  EXPECT_TRUE((judge<Cancelling<false, true>>(random_search(30'000))));
}
TEST(WeightedSemaphoreModel, it_may_go_away_after_an_acquire) { EXPECT_TRUE(judge<GoingAway>(random_search(30'000))); }

TEST(WeightedSemaphoreModel, finds_a_release_without_order) {
  EXPECT_TRUE(is_caught_with<GoingRound<false>>({"weighted_core::release", Fault::kUnordered}, random_search(30'000)));
}

}  // namespace
}  // namespace weft::model
