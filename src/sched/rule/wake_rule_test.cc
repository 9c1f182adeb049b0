// SPDX-License-Identifier: MIT
#include "sched/rule/wake_rule.h"

#include <gtest/gtest.h>

namespace weft::sched::rule {
namespace {

constexpr std::uint32_t kProcessors = 4;

// The idle word as it is with so many idle Ps and spinners.
IdleView view_of(std::uint32_t idle, std::uint32_t spinning, bool passive = false, bool suppressed = false) {
  IdleWord<base::StdAtomics, kProcessors> word;
  for (std::uint32_t i = 0; i < idle; ++i) EXPECT_TRUE(word.push(i, false, kProcessors));
  for (std::uint32_t i = 0; i < spinning; ++i) EXPECT_TRUE(word.try_start_spinning(kProcessors));
  if (passive) word.set_passive(suppressed);
  return word.look();
}

TEST(WakeRule, R1_the_slot_wants_another_core_only_if_a_processor_is_idle_and_no_machine_spins) {
  EXPECT_FALSE(lacks_spinner(view_of(0, 0))) << "every P is busy";
  EXPECT_FALSE(lacks_spinner(view_of(0, 1)));
  EXPECT_FALSE(lacks_spinner(view_of(1, 1))) << "the spinner looks into the slot";
  EXPECT_TRUE(lacks_spinner(view_of(1, 0)));
  EXPECT_TRUE(lacks_spinner(view_of(3, 0)));
}

TEST(WakeRule, R2_offered_work_wakes_the_passive_spinner_before_an_idle_processor) {
  EXPECT_EQ(whom_to_wake(view_of(0, 0)), Wake::kNone);
  EXPECT_EQ(whom_to_wake(view_of(2, 0)), Wake::kOne);
  EXPECT_EQ(whom_to_wake(view_of(2, 1)), Wake::kNone) << "one spinner suffices";
  EXPECT_EQ(whom_to_wake(view_of(2, 1, true)), Wake::kPassive);
  EXPECT_EQ(whom_to_wake(view_of(0, 1, true)), Wake::kPassive);
  EXPECT_EQ(whom_to_wake(view_of(2, 1, true, true)), Wake::kPassive) << "the caller then asks R8";
}

TEST(WakeRule, R3_only_the_last_spinner_beside_an_idle_processor_wakes_a_successor) {
  EXPECT_TRUE(needs_successor(view_of(1, 1)));
  EXPECT_FALSE(needs_successor(view_of(0, 1))) << "no P is idle";
  EXPECT_FALSE(needs_successor(view_of(0, 2))) << "another spins on";
}

TEST(WakeRule, R8_a_suppressed_spinner_is_recalled_for_what_costs_more_than_a_wake) {
  EXPECT_FALSE(worth_recalling({1, 9'999}));
  EXPECT_TRUE(worth_recalling({1, 10'000}));
  EXPECT_TRUE(worth_recalling({10, 1'000}));
  EXPECT_FALSE(worth_recalling({127, 1}));
  EXPECT_TRUE(worth_recalling({128, 1})) << "so many, however short their runs";
  EXPECT_FALSE(worth_recalling({0, 1'000'000}));
}

TEST(WakeRule, R4_a_steal_is_worth_it_if_it_brings_more_than_moving_costs) {
  EXPECT_FALSE(worth_stealing({1, 4'999}));
  EXPECT_TRUE(worth_stealing({1, 5'000}));
  EXPECT_FALSE(worth_stealing({0, 1'000'000}));
}

}  // namespace
}  // namespace weft::sched::rule
