// SPDX-License-Identifier: MIT
#include "base/random.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace weft::base {
namespace {

TEST(Random, is_a_function_of_its_seed) {
  Random first(7), again(7), other(8);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = first.next();
    ASSERT_EQ(value, again.next());
    differs |= value != other.next();
  }
  EXPECT_TRUE(differs);
}

TEST(Random, stays_below_its_bound_and_reaches_everything_under_it) {
  Random random(1);
  for (const std::uint32_t bound : {1u, 2u, 3u, 7u, 61u, 1024u}) {
    std::set<std::uint32_t> seen;
    for (std::uint32_t i = 0; i < 40 * bound; ++i) {
      const std::uint32_t value = random.below(bound);
      ASSERT_LT(value, bound);
      seen.insert(value);
    }
    EXPECT_EQ(seen.size(), bound);
  }
  for (int i = 0; i < 1000; ++i) ASSERT_LT(random.below(UINT32_MAX), UINT32_MAX);
}

// Ps are seeded 1, 2, 3 ...: neighbours must not walk in step, or all thieves would go to the same victim.
TEST(Random, neighbouring_seeds_choose_independently) {
  constexpr int kRounds = 4000;
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    Random here(seed), there(seed + 1);
    int same = 0;
    for (int i = 0; i < kRounds; ++i) same += here.below(8) == there.below(8);
    EXPECT_GT(same, kRounds / 8 - 150) << seed;
    EXPECT_LT(same, kRounds / 8 + 150) << seed;
  }
}

TEST(Random, spreads_evenly) {
  constexpr int kCells = 16, kRounds = 160'000;
  Random random(3);
  std::vector<int> hits(kCells);
  for (int i = 0; i < kRounds; ++i) ++hits[random.below(kCells)];
  for (const int count : hits) EXPECT_NEAR(count, kRounds / kCells, 600);
}

}  // namespace
}  // namespace weft::base
