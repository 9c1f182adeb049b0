// SPDX-License-Identifier: MIT
#include <memory>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// latch and barrier.
namespace {

using namespace weft::test;

class LatchBarrier : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(LatchBarrier);

TEST_P(LatchBarrier, a_latch_opens_at_zero_and_stays_open) {
  weft::latch latch(3);
  EXPECT_FALSE(latch.try_wait());
  latch.count_down(2);
  EXPECT_FALSE(latch.try_wait());
  EXPECT_FALSE(latch.wait_for(1ms));
  EXPECT_FALSE(latch.wait_until(Clock::now() + 1ms));
  latch.count_down();
  EXPECT_TRUE(latch.try_wait());
  latch.wait();
  EXPECT_TRUE(latch.wait_for(0s));
  latch.count_down(0);
  const weft::latch open(0);
  open.wait();
}

TEST_P(LatchBarrier, counting_a_latch_below_zero_throws_and_changes_nothing) {
  weft::latch latch(1);
  EXPECT_THROW(latch.count_down(2), weft::logic_error);
  EXPECT_THROW(latch.count_down(-1), weft::logic_error);
  EXPECT_FALSE(latch.try_wait());
  latch.count_down();
  EXPECT_THROW(latch.count_down(), weft::logic_error);
  EXPECT_TRUE(latch.try_wait());
  EXPECT_THROW(weft::latch(-1), weft::logic_error);
}

TEST_P(LatchBarrier, a_latch_releases_all_and_shows_what_was_done_before) {
  for (int round = 0; round < scaled(50); ++round) {
    constexpr int kWorkers = 12;
    weft::latch latch(kWorkers + 2);
    std::vector<int> done(kWorkers + 2, 0);  // plain: the latch orders the accesses
    const auto check = [&](std::size_t me) {
      done[me] = 1;
      latch.arrive_and_wait();
      for (const int each : done) ASSERT_EQ(each, 1);
    };
    weft::wait_group group;
    for (std::size_t i = 0; i < kWorkers; ++i) group.go([&, i] { check(i); });
    std::thread first(check, kWorkers), second(check, kWorkers + 1);
    first.join();
    second.join();
    group.wait();
  }
}

TEST_P(LatchBarrier, a_latch_may_go_away_as_soon_as_wait_returns) {
  weft::run([] {
    for (int round = 0; round < scaled(1000); ++round) {
      auto latch = std::make_unique<weft::latch>(2);
      for (int i = 0; i < 2; ++i) weft::go([raw = latch.get()] { raw->count_down(); });
      latch->wait();
      latch.reset();
    }
  });
}

TEST_P(LatchBarrier, a_barrier_holds_everybody_until_all_have_come_in_each_phase) {
  constexpr int kWorkers = 6, kPhases = 50;
  int completed = 0;  // plain: written by the completion function only
  const auto complete = [&completed]() noexcept { ++completed; };
  weft::barrier barrier(kWorkers, complete);
  std::atomic<int> arrived{0};
  const auto work = [&] {
    for (int phase = 0; phase < kPhases; ++phase) {
      ++arrived;
      if (phase % 2 == 0) {
        barrier.arrive_and_wait();
      } else {
        barrier.wait(barrier.arrive());
      }
      ASSERT_EQ(completed, phase + 1) << "the next phase cannot end before this one has come to it";
      ASSERT_GE(arrived, (phase + 1) * kWorkers);
    }
  };
  weft::wait_group group;
  for (int i = 0; i < kWorkers - 2; ++i) group.go(work);
  std::thread first(work), second(work);
  first.join();
  second.join();
  group.wait();
  EXPECT_EQ(completed, kPhases);
}

TEST_P(LatchBarrier, the_completion_function_runs_before_anybody_goes_on_and_may_park) {
  weft::run([] {
    std::atomic<bool> completed{false};
    const auto complete = [&completed]() noexcept {
      weft::this_goroutine::sleep_for(2ms);
      completed = true;
    };
    weft::barrier barrier(3, complete);
    weft::wait_group group;
    for (int i = 0; i < 3; ++i) {
      group.go([&] {
        barrier.arrive_and_wait();
        EXPECT_TRUE(completed);
      });
    }
    group.wait();
  });
}

TEST_P(LatchBarrier, who_drops_out_is_not_waited_for) {
  weft::run([] {
    weft::barrier barrier(3);
    weft::wait_group group;
    std::atomic<int> phases{0};
    group.go([&] { barrier.arrive_and_drop(); });
    for (int i = 0; i < 2; ++i) {
      group.go([&] {
        for (int phase = 0; phase < 10; ++phase) {
          barrier.arrive_and_wait();
          ++phases;
        }
      });
    }
    group.wait();
    EXPECT_EQ(phases, 20);
  });
}

TEST_P(LatchBarrier, a_barrier_keeps_time_limits_and_refuses_too_many) {
  weft::barrier<> barrier(2);
  auto token = barrier.arrive();
  EXPECT_FALSE(barrier.wait_for(token, 2ms));
  EXPECT_FALSE(barrier.wait_until(token, Clock::now()));
  EXPECT_THROW(static_cast<void>(barrier.arrive(2)), weft::logic_error);
  EXPECT_THROW(static_cast<void>(barrier.arrive(0)), weft::logic_error);
  EXPECT_FALSE(barrier.wait_for(token, 0s));
  auto other = barrier.arrive();
  EXPECT_TRUE(barrier.wait_for(token, 0s));
  barrier.wait(std::move(token));
  barrier.wait(std::move(other));
  barrier.wait(barrier.arrive(2));
  EXPECT_THROW(weft::barrier<>(-1), weft::logic_error);
}

TEST_P(LatchBarrier, a_barrier_may_go_away_when_all_have_gone_on) {
  weft::run([] {
    for (int round = 0; round < scaled(1000); ++round) {
      auto barrier = std::make_unique<weft::barrier<>>(2);
      weft::go([raw = barrier.get()] { raw->arrive_and_drop(); });
      barrier->arrive_and_wait();
      barrier.reset();
    }
  });
}

}  // namespace
