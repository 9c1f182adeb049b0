// SPDX-License-Identifier: MIT
#include "sched/rule/run_habits.h"

#include <gtest/gtest.h>

#include "sched/rule/brief_sleepers.h"
#include "sched/rule/pause.h"

namespace weft::sched {
namespace {

TEST(RunHabits, a_long_run_after_a_wake_up_makes_a_watched_long_runner) {
  RunHabits habits;
  EXPECT_FALSE(habits.watched);
  habits.note_sample(true);
  EXPECT_TRUE(habits.watched);
}

TEST(RunHabits, two_brief_runs_make_a_short_runner_and_a_long_one_ends_that) {
  RunHabits habits;
  habits.note_sample(false);
  EXPECT_FALSE(habits.runs_briefly());
  habits.note_sample(false);
  EXPECT_TRUE(habits.runs_briefly());
  habits.note_sample(true);
  EXPECT_FALSE(habits.runs_briefly());
}

TEST(RunHabits, brief_runs_take_a_long_runner_off_the_watch_again) {
  RunHabits habits;
  for (int i = 0; i < 50; ++i) habits.note_sample(true);
  int brief = 0;
  while (habits.watched) {
    habits.note_sample(false);
    ASSERT_LT(++brief, 10);
  }
  EXPECT_EQ(brief, 3);
}

TEST(RunHabits, one_caught_by_a_thief_is_watched_at_once) {
  RunHabits habits;
  habits.note_caught();
  EXPECT_TRUE(habits.watched);
}

TEST(RunHabits, one_brief_run_before_a_sleep_suffices) {
  RunHabits habits;
  habits.note_run_before_sleep(rule::kBriefUs - 1);
  EXPECT_TRUE(habits.runs_briefly());
  habits.note_run_before_sleep(rule::kBriefUs);
  EXPECT_FALSE(habits.runs_briefly());
}

TEST(BriefSleepers, only_a_lone_brief_sleeper_is_known_to_run_briefly) {
  EXPECT_TRUE(BriefSleepers(1).add(rule::kBriefUs - 1));
  EXPECT_FALSE(BriefSleepers(1).add(rule::kBriefUs));
  EXPECT_FALSE(BriefSleepers(2).add(1));
}

TEST(BriefSleepers, suit_one_thread_while_their_runs_together_are_short) {
  BriefSleepers few(20);
  for (int i = 0; i < 20; ++i) few.add(9);
  EXPECT_TRUE(few.suit_one_thread()) << "20 * 9 us and 20 halves are 190";
  few.add(10);
  EXPECT_FALSE(few.suit_one_thread());
  EXPECT_FALSE(BriefSleepers(400).suit_one_thread()) << "each costs half a microsecond at least";
}

TEST(Pause, doubles_to_the_longest_and_falls_back_where_work_has_aged) {
  Pause pause(Pause::Kind::kUsual);
  EXPECT_EQ(pause.ns(), rule::kPassiveFirstNs);
  for (int i = 0; i < 20; ++i) pause.look_again(Pause::Kind::kUsual, false);
  EXPECT_EQ(pause.ns(), rule::kPassiveLimitNs);
  pause.look_again(Pause::Kind::kUsual, true);
  EXPECT_EQ(pause.ns(), rule::kPassiveFirstNs);
}

TEST(Pause, of_a_suppressed_spinner_stays_short_until_the_suppression_is_lifted) {
  Pause pause(Pause::Kind::kSuppressed);
  for (int i = 0; i < 20; ++i) pause.look_again(Pause::Kind::kSuppressed, false);
  EXPECT_EQ(pause.ns(), rule::kSuppressedLookNs);
  pause.look_again(Pause::Kind::kUsual, false);
  EXPECT_EQ(pause.ns(), 2 * rule::kSuppressedLookNs);
}

TEST(Pause, of_a_processor_that_keeps_apart_begins_long) {
  EXPECT_EQ(Pause(Pause::Kind::kApart).ns(), rule::kApartLookNs);
}

}  // namespace
}  // namespace weft::sched
