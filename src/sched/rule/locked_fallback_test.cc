// SPDX-License-Identifier: MIT
#include "sched/rule/locked_fallback.h"

#include <gtest/gtest.h>

namespace {

using weft::sched::LockedFallback;
using Advice = LockedFallback::Advice;

TEST(LockedFallback, needs_two_looks_with_more_than_the_limit) {
  LockedFallback rule(8);
  EXPECT_EQ(rule.look(8, false), Advice::kStay);
  EXPECT_EQ(rule.look(9, false), Advice::kStay);
  EXPECT_EQ(rule.look(8, false), Advice::kStay) << "begins anew";
  EXPECT_EQ(rule.look(9, false), Advice::kStay);
  EXPECT_EQ(rule.look(100, false), Advice::kGoThere);
}

TEST(LockedFallback, comes_back_below_half_of_the_limit_and_not_at_the_first_look) {
  LockedFallback rule(8);
  for (int look = 0; look < 100; ++look) EXPECT_EQ(rule.look(4, true), Advice::kStay) << "half is not below half";
  for (int look = 1; look < LockedFallback::kRoundsBack; ++look) EXPECT_EQ(rule.look(3, true), Advice::kStay);
  EXPECT_EQ(rule.look(3, true), Advice::kComeBack);
}

TEST(LockedFallback, stays_where_it_is_while_the_number_swings_around_the_limit) {
  LockedFallback here(10), there(10);
  int changes = 0;
  for (int look = 0; look < 1000; ++look) {
    if (here.look(look % 2 == 0 ? 11 : 10, false) != Advice::kStay) ++changes;
    if (there.look(look % 9 == 0 ? 20 : 4, true) != Advice::kStay) ++changes;
  }
  EXPECT_EQ(changes, 0);
}

TEST(LockedFallback, counts_anew_when_the_policy_was_changed_by_others) {
  LockedFallback rule(8);
  for (int look = 1; look < LockedFallback::kRoundsBack; ++look) EXPECT_EQ(rule.look(1, true), Advice::kStay);
  EXPECT_EQ(rule.look(9, false), Advice::kStay);
  EXPECT_EQ(rule.look(1, true), Advice::kStay);
}

TEST(LockedFallback, with_a_limit_of_one_or_less_comes_back_when_none_is_left) {
  for (const std::uint32_t limit : {0u, 1u}) {
    LockedFallback rule(limit);
    EXPECT_EQ(rule.look(2, false), Advice::kStay);
    EXPECT_EQ(rule.look(2, false), Advice::kGoThere);
    for (int look = 0; look < 50; ++look) EXPECT_EQ(rule.look(1, true), Advice::kStay);
    for (int look = 1; look < LockedFallback::kRoundsBack; ++look) EXPECT_EQ(rule.look(0, true), Advice::kStay);
    EXPECT_EQ(rule.look(0, true), Advice::kComeBack);
  }
}

}  // namespace
