// SPDX-License-Identifier: MIT
#include "sched/queue/victim_order.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

#include "base/random.h"

namespace weft::sched {
namespace {

TEST(VictimOrder, visits_every_processor_once) {
  base::Random random(5);
  for (const std::uint32_t n : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 12u, 30u, 61u, 210u, 1023u, 1024u}) {
    for (int round = 0; round < 200; ++round) {
      std::vector<int> visits(n);
      VictimOrder order(n, random.next());
      std::uint32_t victim = 0, count = 0;
      while (order.next(victim)) {
        ASSERT_LT(victim, n);
        ++visits[victim];
        ASSERT_LE(++count, n);
      }
      for (const int each : visits) ASSERT_EQ(each, 1) << n;
      ASSERT_FALSE(order.next(victim)) << "it is over";
    }
  }
}

TEST(VictimOrder, takes_any_random_number) {
  for (const std::uint64_t random : {0ull, 1ull, 0xFFFF'FFFFull, 0xFFFF'FFFF'0000'0000ull, 0xFFFF'FFFF'FFFF'FFFFull}) {
    for (std::uint32_t n = 1; n <= 64; ++n) {
      VictimOrder order(n, random);
      std::uint32_t victim = 0, count = 0;
      while (order.next(victim)) ++count;
      ASSERT_EQ(count, n);
    }
  }
}

TEST(VictimOrder, starts_everywhere_and_goes_different_ways) {
  base::Random random(9);
  std::map<std::uint32_t, int> first;
  std::map<std::uint32_t, int> second_after_zero;
  for (int round = 0; round < 8000; ++round) {
    VictimOrder order(8, random.next());
    std::uint32_t victim = 0, next = 0;
    ASSERT_TRUE(order.next(victim) && order.next(next));
    ++first[victim];
    if (victim == 0) ++second_after_zero[next];
  }
  ASSERT_EQ(first.size(), 8u);
  for (const auto& [victim, count] : first) EXPECT_NEAR(count, 1000, 250) << victim;
  EXPECT_EQ(second_after_zero.size(), 4u) << "1, 3, 5 and 7 have no divisor in common with 8";
}

}  // namespace
}  // namespace weft::sched
