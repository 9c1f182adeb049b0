// SPDX-License-Identifier: MIT
#include "policy/batch_run.h"

#include <gtest/gtest.h>

namespace weft::policy {
namespace {

using End = BatchRun::End;

std::uint32_t dispatches_of(BatchRun run, std::uint32_t now_ms) {
  std::uint32_t count = 0;
  for (; run.end(now_ms) == End::kNotYet; ++count) run.count(1);
  return count;
}

TEST(BatchRun, lasts_as_many_dispatches_as_fit_into_its_time) {
  BatchRun run;
  run.begin(1'000, 5);
  EXPECT_EQ(dispatches_of(run, 5), 99u);
  run.begin(50, 5);
  EXPECT_EQ(dispatches_of(run, 5), BatchRun::kMost);
  run.begin(1'000'000, 5);
  EXPECT_EQ(dispatches_of(run, 5), BatchRun::kLeast);
  run.begin(UINT32_MAX / 4, 5);
  EXPECT_EQ(dispatches_of(run, 5), BatchRun::kLeast);
}

TEST(BatchRun, ends_by_time_if_its_members_compute) {
  BatchRun run;
  run.begin(100, 5);
  run.count(3);
  EXPECT_EQ(run.end(5 + BatchRun::kLongestMs), End::kNotYet);
  EXPECT_EQ(run.end(6 + BatchRun::kLongestMs), End::kByTime);
  run.count(5'000);
  EXPECT_EQ(run.end(6 + BatchRun::kLongestMs), End::kByDispatches);
}

TEST(BatchRun, of_krocs_rules_has_eight_dispatches_for_each_member_and_127_at_most) {
  BatchRun run;
  const std::uint32_t expected[] = {8, 8, 16, 24, 32};
  for (std::uint32_t members = 0; members < std::size(expected); ++members) {
    run.begin_kroc(members, 0);
    EXPECT_EQ(dispatches_of(run, 0), expected[members]) << members;
  }
  for (const std::uint32_t members : {15u, 16u, 17u, 1'000u, UINT32_MAX}) {
    run.begin_kroc(members, 0);
    EXPECT_EQ(dispatches_of(run, 0), members == 15 ? 120u : 127u) << members;
  }
}

TEST(BatchRun, remembers_until_the_next_run_that_it_was_emptied) {
  BatchRun run;
  run.begin(100, 0);
  EXPECT_FALSE(run.was_emptied());
  run.found_empty();
  run.count(1);
  EXPECT_TRUE(run.was_emptied());
  run.begin(100, 0);
  EXPECT_FALSE(run.was_emptied());
}

}  // namespace
}  // namespace weft::policy
