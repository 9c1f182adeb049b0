// SPDX-License-Identifier: MIT
#include "sched/timer/wake_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/random.h"

namespace weft::sched {
namespace {

using Times = std::vector<std::int64_t>;
constexpr std::int64_t kUs = 1'000;

TimerWake plan(const Times& times) {
  WakePlan made(*std::min_element(times.begin(), times.end()));
  for (const std::int64_t when : times)
    if (when <= made.until_ns() && !made.add(when)) break;
  return made.make();
}

Times random_times(base::Random& random, std::int64_t mean_gap_ns, std::size_t count) {
  Times times;
  double now = 1'000'000;
  while (times.size() < count) {
    now -= std::log((static_cast<double>(random.below(1 << 30)) + 1) / (1 << 30)) * static_cast<double>(mean_gap_ns);
    times.push_back(static_cast<std::int64_t>(now));
  }
  return times;
}

TEST(WakePlan, few_timers_are_not_late) {
  EXPECT_EQ(plan({1000 * kUs}).at_ns, 1000 * kUs);
  EXPECT_EQ(plan({1000 * kUs, 1010 * kUs}).at_ns, 1000 * kUs);
  EXPECT_EQ(plan({1000 * kUs, 2000 * kUs, 3000 * kUs, 4000 * kUs}).at_ns, 1000 * kUs) << "far apart";
}

TEST(WakePlan, the_next_wake_up_but_one_is_told_where_it_is_known) {
  EXPECT_EQ(plan({1000 * kUs, 1100 * kUs, 1200 * kUs, 1600 * kUs}).then_ns, WakePlan::kNever)
      << "there may be more behind it";
  EXPECT_EQ(plan({1000 * kUs, 1100 * kUs, 1200 * kUs, 1390 * kUs}).then_ns, 1390 * kUs);
  EXPECT_EQ(plan({1000 * kUs}).then_ns, WakePlan::kNever);
}

TEST(WakePlan, waits_for_where_they_are_dense_and_not_for_who_comes_alone_after_that) {
  const Times times = {1000 * kUs, 1150 * kUs, 1160 * kUs, 1170 * kUs, 1180 * kUs, 1310 * kUs};
  EXPECT_EQ(plan(times).at_ns, 1180 * kUs);
  Times reversed(times.rbegin(), times.rend());
  EXPECT_EQ(plan(reversed).at_ns, 1180 * kUs) << "in whatever order they are told";
}

TEST(WakePlan, waits_for_the_last_where_nothing_speaks_against_it) {
  EXPECT_EQ(plan({1000 * kUs, 1080 * kUs, 1160 * kUs, 1240 * kUs, 1319 * kUs, 1321 * kUs}).at_ns, 1319 * kUs);
}

TEST(WakePlan, new_timers_interrupt_only_who_would_make_them_too_late) {
  EXPECT_EQ(plan({1000 * kUs}).interrupted_before_ns, 1000 * kUs);
  const TimerWake wake = plan({1000 * kUs, 1100 * kUs, 1200 * kUs});
  EXPECT_EQ(wake.interrupted_before_ns, wake.at_ns - WakePlan::kWindowNs);
}

TEST(WakePlan, crowds_are_served_at_fixed_intervals) {
  Times times;
  for (std::int64_t i = 0; i < 500; ++i) times.push_back(1'001 * kUs + i * kUs);
  const TimerWake wakes = plan(times);
  EXPECT_EQ(wakes.at_ns, 1'250 * kUs);
  EXPECT_EQ(wakes.then_ns, 1'500 * kUs);
  times.erase(times.begin(), times.begin() + 250);  // those due by 1250 us have run
  EXPECT_EQ(plan(times).at_ns, wakes.then_ns);
}

TEST(WakePlan, nobody_is_later_than_the_window_and_what_was_told_comes_true) {
  base::Random random(5);
  for (const std::int64_t gap_us : {2, 10, 25, 60, 200, 1000}) {
    Times times = random_times(random, gap_us * kUs, 3000);
    std::int64_t told = WakePlan::kNever;
    int known = 0, true_ones = 0, wakes = 0;
    while (!times.empty()) {
      const TimerWake next = plan(times);
      ASSERT_GE(next.at_ns, times.front());
      ASSERT_LE(next.at_ns, times.front() + WakePlan::kWindowNs) << gap_us << " us apart";
      if (told != WakePlan::kNever && times.size() > WakePlan::kMost) {
        ++known;
        true_ones += next.at_ns == told ? 1 : 0;
      }
      told = next.then_ns;
      ++wakes;
      times.erase(times.begin(), std::upper_bound(times.begin(), times.end(), next.at_ns));
    }
    if (gap_us <= 60) {
      EXPECT_GT(known, wakes / 2) << gap_us << " us apart";
    }
    // With 10 us between timers the prediction is often wrong: they are a crowd now, and none a little later.
    EXPECT_GE(true_ones, gap_us == 10 ? known / 2 : known - known / 50) << known << " times, " << gap_us << " us apart";
  }
}

struct Served {
  std::size_t wakes = 0;
  std::int64_t median_ns = 0;
};
template <class NextWake>
Served serve(const Times& times, NextWake next_wake) {
  Served served;
  Times late;
  for (std::size_t i = 0; i < times.size(); ++served.wakes) {
    const std::int64_t at = next_wake(i);
    for (; i < times.size() && times[i] <= at; ++i) late.push_back(at - times[i]);
  }
  std::nth_element(late.begin(), late.begin() + static_cast<std::ptrdiff_t>(late.size() / 2), late.end());
  served.median_ns = late[late.size() / 2];
  return served;
}

TEST(WakePlan, needs_fewer_wake_ups_than_a_window_of_250_us_and_has_them_less_late) {
  base::Random random(3);
  const Times times = random_times(random, 25'500, 20'000);  // as of a thousand goroutines that sleep 1 to 50 ms
  const auto from = [&](std::size_t i) { return times.begin() + static_cast<std::ptrdiff_t>(i); };
  const Served window = serve(
      times, [&](std::size_t i) { return *std::prev(std::upper_bound(from(i), times.end(), times[i] + 250 * kUs)); });
  const Served planned = serve(times, [&](std::size_t i) {
    return plan(Times(from(i), from(std::min(i + WakePlan::kMost, times.size())))).at_ns;
  });
  EXPECT_LT(planned.wakes * 100, window.wakes * 92);
  EXPECT_LT(planned.median_ns * 100, window.median_ns * 93);
}

}  // namespace
}  // namespace weft::sched
