// SPDX-License-Identifier: MIT
#include "sched/timer/wake_lateness.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace weft::sched {
namespace {

TEST(WakeLateness, begins_with_none) { EXPECT_EQ(WakeLateness().head_start_ns(), 0); }

TEST(WakeLateness, comes_near_to_the_least_that_is_usual) {
  WakeLateness lateness;
  base::Random random(1);
  const auto next = [&] { return 20'000 + static_cast<std::int64_t>(random.below(8'000)); };
  for (int i = 0; i < 1'000; ++i) lateness.note(next());
  int early = 0;
  std::int64_t waited = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t late = next(), head_start = lateness.head_start_ns();
    EXPECT_GT(head_start, 15'000);
    if (late < head_start) {
      ++early;
      waited += head_start - late;
    }
    lateness.note(late);
  }
  EXPECT_LT(early, 5'000);
  EXPECT_LT(waited / 10'000, 1'000) << "on average";
}

TEST(WakeLateness, forgets_a_busy_machine_soon) {
  WakeLateness lateness;
  for (int i = 0; i < 10'000; ++i) lateness.note(5'000'000);
  EXPECT_EQ(lateness.head_start_ns(), WakeLateness::kMostNs);
  for (int i = 0; i < 5; ++i) lateness.note(3'000);
  EXPECT_LT(lateness.head_start_ns(), 5'000);
}

TEST(WakeLateness, is_never_negative) {
  WakeLateness lateness;
  for (int i = 0; i < 100; ++i) lateness.note(-1'000'000);
  EXPECT_EQ(lateness.head_start_ns(), 0);
}

}  // namespace
}  // namespace weft::sched
