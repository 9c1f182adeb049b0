// SPDX-License-Identifier: MIT
#include "sched/rule/thief_record.h"

#include <gtest/gtest.h>

namespace weft::sched {
namespace {

constexpr std::uint64_t kProductive = 100;  // ticks

void steal_crumbs(ThiefRecord& thief) {
  thief.note_steal(1'000);
  thief.judge(1'000 + kProductive - 1, kProductive);
}
void steal_work(ThiefRecord& thief) {
  thief.note_steal(1'000);
  thief.judge(1'000 + kProductive, kProductive);
}

TEST(ThiefRecord, is_suppressed_after_two_fruitless_steals_in_a_row) {
  ThiefRecord thief;
  steal_crumbs(thief);
  EXPECT_FALSE(thief.suppressed());
  steal_work(thief);
  steal_crumbs(thief);
  EXPECT_FALSE(thief.suppressed()) << "not in a row";
  steal_crumbs(thief);
  EXPECT_TRUE(thief.suppressed());
}

TEST(ThiefRecord, one_good_steal_clears_it) {
  ThiefRecord thief;
  for (int i = 0; i < 100; ++i) steal_crumbs(thief);
  steal_work(thief);
  EXPECT_FALSE(thief.suppressed());
}

TEST(ThiefRecord, work_that_was_not_stolen_is_not_judged) {
  ThiefRecord thief;
  thief.note_steal(0);
  EXPECT_FALSE(thief.wants_judgement());
  for (int i = 0; i < 5; ++i) thief.judge(1'000, kProductive);
  EXPECT_FALSE(thief.suppressed());
}

TEST(ThiefRecord, a_steal_is_judged_once) {
  ThiefRecord thief;
  steal_crumbs(thief);
  thief.judge(1'000 + kProductive - 1, kProductive);
  EXPECT_FALSE(thief.suppressed());
}

TEST(ThiefRecord, suppressions_double_up_to_12_8_ms) {
  ThiefRecord thief;
  std::int64_t now = 1'000'000'000, expected = rule::kPassiveFirstNs;
  for (int i = 0; i < 12; ++i) {
    thief.begin_suppression(now);
    EXPECT_FALSE(thief.suppression_is_over(now + expected - 1)) << i;
    EXPECT_TRUE(thief.suppression_is_over(now + expected)) << i;
    now += expected;
    if (expected < 12'800'000) expected *= 2;
  }
}

TEST(ThiefRecord, a_waker_that_interrupts_a_suppression_does_not_lengthen_it) {
  ThiefRecord thief;
  const std::int64_t now = 1'000'000'000;
  thief.begin_suppression(now);
  thief.begin_suppression(now + rule::kPassiveFirstNs / 2);
  EXPECT_TRUE(thief.suppression_is_over(now + rule::kPassiveFirstNs));
}

TEST(ThiefRecord, an_old_suppression_is_forgotten) {
  ThiefRecord thief;
  std::int64_t now = 1'000'000'000;
  for (int i = 0; i < 4; ++i) {
    thief.begin_suppression(now);
    now += rule::kPassiveFirstNs << i;
  }
  now += rule::kForgottenNs + 1;
  thief.begin_suppression(now);
  EXPECT_TRUE(thief.suppression_is_over(now + rule::kPassiveFirstNs));
}

TEST(ThiefRecord, on_probation_one_more_fruitless_steal_suppresses) {
  ThiefRecord thief;
  steal_crumbs(thief), steal_crumbs(thief);
  thief.forgive();
  EXPECT_FALSE(thief.suppressed());
  thief.put_on_probation();
  EXPECT_FALSE(thief.suppressed());
  steal_crumbs(thief);
  EXPECT_TRUE(thief.suppressed());
}

}  // namespace
}  // namespace weft::sched
