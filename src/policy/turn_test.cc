// SPDX-License-Identifier: MIT
#include "policy/turn.h"

#include <gtest/gtest.h>

namespace weft::policy {
namespace {

// Plays one turn of a chain whose runs take `run` ticks each. `looks` counts the calls of go_on(), which alone reads
// the clock.
struct Chain {
  std::uint64_t lasted = 0;
  int runs = 0, looks = 0;
};
Chain chain(std::uint64_t run, std::uint64_t length) {
  Turn turn;
  std::uint32_t granted = turn.begin();
  Chain chain;
  for (std::uint64_t now = 1'000;; now += run, chain.lasted += run, ++chain.runs) {
    if (granted == 0) {
      ++chain.looks;
      granted = turn.go_on(now, length);
      if (granted == 0) return chain;
    }
    --granted;
  }
}

TEST(Turn, lasts_as_long_whatever_its_runs_last) {
  for (const std::uint64_t run : {1u, 3u, 50u, 1'000u, 30'000u, 400'000u}) {
    const Chain made = chain(run, 1'000'000);
    EXPECT_GE(made.lasted + 16 * run, 950'000u) << run;
    EXPECT_LE(made.lasted, 1'000'000 + 3 * run + 100) << run;
  }
}

TEST(Turn, of_runs_longer_than_it_ends_at_the_second_look) {
  const Chain made = chain(5'000'000, 1'000'000);
  EXPECT_EQ(made.looks, 2);
  EXPECT_EQ(made.runs, static_cast<int>(Turn::kFirstLook + 1));
}

TEST(Turn, of_short_runs_looks_at_the_clock_seldom) {
  const Chain made = chain(50, 1'000'000);
  EXPECT_LE(made.looks, made.runs / 14);
}

TEST(Turn, that_is_short_never_looks_at_the_clock) {
  Turn turn;
  EXPECT_EQ(turn.begin(), Turn::kFirstLook);
  EXPECT_EQ(turn.begin(), Turn::kFirstLook);
}

TEST(Turn, of_a_chain_that_nothing_waits_behind_looks_seldom_and_begins_anew) {
  Turn turn;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(turn.go_on_alone(), Turn::kMostRuns);
  EXPECT_GT(turn.go_on(1'000'000, 10), 0u) << "the time alone does not count";
}

}  // namespace
}  // namespace weft::policy
