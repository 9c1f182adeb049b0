// SPDX-License-Identifier: MIT
#include "sched/timer/timer_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "base/random.h"
#include "sched/model/goroutine.h"

namespace weft::sched {
namespace {

struct Fired {
  std::vector<std::int64_t> times;
};

struct LoggedTimer : Timer {
  LoggedTimer(std::int64_t when, Fired& fired) : log(fired) {
    when_ns = when;
    callback = [](Timer* due) { static_cast<LoggedTimer*>(due)->log.times.push_back(due->when_ns); };
  }
  Fired& log;
};

TEST(TimerHeap, fires_in_the_order_of_time_what_random_adds_and_stops_leave) {
  base::Random random(7);
  TimerHeap heap;
  Fired fired;
  std::deque<LoggedTimer> timers;
  std::vector<std::int64_t> expected;
  for (int i = 0; i < 2000; ++i) {
    timers.emplace_back(1 + static_cast<std::int64_t>(random.below(1000)), fired);
    heap.add(&timers.back());
  }
  ASSERT_EQ(heap.size(), timers.size());
  for (Timer& timer : timers) {
    if (random.below(3) == 0) {
      EXPECT_TRUE(stop_timer(&timer));
      EXPECT_FALSE(stop_timer(&timer)) << "stopped already";
    } else {
      expected.push_back(timer.when_ns);
    }
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(heap.next_ns(), expected.front());
  DueSleepers none;
  while (heap.run_due(1000, false, none) > 0) {
  }
  EXPECT_EQ(fired.times, expected);
  EXPECT_EQ(heap.next_ns(), TimerHeap::kNever);
  EXPECT_EQ(heap.size(), 0u);
}

TEST(TimerHeap, tells_a_plan_of_all_that_are_due_soon) {
  base::Random random(11);
  for (int round = 0; round < 200; ++round) {
    TimerHeap heap;
    Fired fired;
    std::deque<LoggedTimer> timers;
    for (std::uint64_t i = 0, n = 1 + random.below(2 * WakePlan::kMost); i < n; ++i) {
      timers.emplace_back(1 + static_cast<std::int64_t>(random.below(2'000'000)), fired);
      heap.add(&timers.back());
    }
    WakePlan told(heap.next_ns()), expected(heap.next_ns());
    heap.join(told);
    for (const Timer& timer : timers)
      if (timer.when_ns <= expected.until_ns()) expected.add(timer.when_ns);
    const TimerWake as_told = told.make(), as_expected = expected.make();
    EXPECT_EQ(as_told.at_ns, as_expected.at_ns) << timers.size() << " timers";
    EXPECT_EQ(as_told.then_ns, as_expected.then_ns) << timers.size() << " timers";
    for (Timer& timer : timers) stop_timer(&timer);
  }
}

TEST(TimerHeap, says_when_a_new_timer_is_the_first) {
  TimerHeap heap;
  Fired fired;
  LoggedTimer later(20, fired), sooner(10, fired), last(30, fired);
  EXPECT_TRUE(heap.add(&later));
  EXPECT_TRUE(heap.add(&sooner));
  EXPECT_FALSE(heap.add(&last));
  EXPECT_EQ(heap.next_ns(), 10);
  EXPECT_TRUE(stop_timer(&sooner));
  EXPECT_EQ(heap.next_ns(), 20);
  EXPECT_TRUE(stop_timer(&later));
  EXPECT_TRUE(stop_timer(&last));
}

TEST(TimerHeap, leaves_the_rest_of_a_crowd_for_the_next_call) {
  TimerHeap heap;
  Fired fired;
  std::deque<LoggedTimer> timers;
  for (std::uint32_t i = 0; i < TimerHeap::kBatch + 10; ++i) {
    timers.emplace_back(5, fired);
    heap.add(&timers.back());
  }
  DueSleepers woken;
  EXPECT_EQ(heap.run_due(5, true, woken), TimerHeap::kBatch);
  EXPECT_EQ(heap.next_ns(), 5);
  EXPECT_EQ(heap.run_due(5, true, woken), 10u);
  EXPECT_EQ(heap.run_due(5, true, woken), 0u);
}

TEST(TimerHeap, wakes_sleepers_in_the_order_of_time_among_timers) {
  constexpr int kCount = 50;
  TimerHeap heap;
  Fired fired;
  std::deque<LoggedTimer> timers;
  Goroutine g[kCount];
  for (int i = 0; i < kCount; ++i) {
    g[i].status.store_relaxed(GStatus::kWaiting);
    EXPECT_TRUE(heap.add_sleeper(&g[i], 2 * (kCount - i))) << "the earliest so far";
    timers.emplace_back(2 * (kCount - i) + 1, fired);
    EXPECT_FALSE(heap.add(&timers.back()));
  }
  EXPECT_TRUE(stop_timer(&timers[kCount - 1])) << "found although only sleepers have moved since";
  DueSleepers woken;
  EXPECT_EQ(heap.run_due(41, true, woken), 20u + 19u);
  EXPECT_EQ(fired.times.size(), 19u);
  ASSERT_EQ(woken.count, 20u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(woken.goroutines[i], &g[kCount - 1 - i]);
  EXPECT_EQ(heap.next_ns(), 42);
  for (LoggedTimer& timer : timers) stop_timer(&timer);
  EXPECT_EQ(heap.size(), 30u);
}

TEST(TimerHeap, takes_over_the_timers_of_another) {
  TimerHeap mine, other;
  Fired fired;
  LoggedTimer a(1, fired), b(2, fired), c(3, fired);
  Goroutine sleeper;
  sleeper.status.store_relaxed(GStatus::kWaiting);
  mine.add(&b);
  other.add(&a);
  other.add(&c);
  other.add_sleeper(&sleeper, 4);
  mine.adopt(other);
  EXPECT_EQ(other.next_ns(), TimerHeap::kNever);
  EXPECT_TRUE(stop_timer(&c));
  DueSleepers woken;
  EXPECT_EQ(mine.run_due(9, true, woken), 3u);
  EXPECT_EQ(fired.times, (std::vector<std::int64_t>{1, 2}));
  ASSERT_EQ(woken.count, 1u);
  EXPECT_EQ(woken.goroutines[0], &sleeper);
}

}  // namespace
}  // namespace weft::sched
