// SPDX-License-Identifier: MIT
// test-labels: checks no-asan no-tsan
#include <gtest/gtest.h>

#include "support/schedule_bugs.h"

namespace {

namespace bugs = weft::test::bugs;
namespace wt = weft::testing;

TEST(KnownBugs, every_random_strategy_finds_each_within_10000_schedules) {
  for (const wt::strategy how : {wt::strategy::random, wt::strategy::pct, wt::strategy::urw, wt::strategy::portfolio})
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
      for (const bugs::Program& program : bugs::wrong) {
        wt::explore_options options;
        options.how = how;
        options.schedules = 10'000;
        options.budget = std::chrono::seconds(60);
        options.seed = seed;
        EXPECT_FALSE(wt::explore(options, program.run))
            << program.name << ", strategy " << static_cast<int>(how) << ", seed " << seed;
      }
}

TEST(KnownBugs, repaired_programs_give_no_report_in_100000_schedules) {
  for (const bugs::Program& program : bugs::right) {
    wt::explore_options options;
    options.schedules = 100'000;
    options.budget = std::chrono::minutes(10);
    const wt::explore_result found = wt::explore(options, program.run);
    EXPECT_TRUE(found) << program.name << ": " << found.message;
  }
}

}  // namespace
