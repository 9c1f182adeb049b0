// SPDX-License-Identifier: MIT
// test-labels: checks no-asan no-tsan no-trace
#include <gtest/gtest.h>

#include "support/schedule_bugs.h"

namespace {

namespace bugs = weft::test::bugs;
namespace wt = weft::testing;

TEST(KnownBugs, the_portfolio_finds_each_within_2000_schedules) {
  for (const bugs::Program& program : bugs::wrong) {
    wt::explore_options options;
    options.schedules = 2000;
    options.budget = std::chrono::seconds(60);
    options.seed = 1;
    const wt::explore_result found = wt::explore(options, program.run);
    EXPECT_FALSE(found) << program.name;
    if (!found) std::printf("%s: schedule %zu, %s\n", program.name, found.schedules, found.replay.c_str());
  }
}

TEST(KnownBugs, repaired_programs_give_no_report) {
  for (const bugs::Program& program : bugs::right) {
    wt::explore_options options;
    options.schedules = 300;
    const wt::explore_result found = wt::explore(options, program.run);
    EXPECT_TRUE(found) << program.name << ": " << found.message;
  }
}

}  // namespace
