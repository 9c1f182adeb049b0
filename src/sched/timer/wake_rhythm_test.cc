// SPDX-License-Identifier: MIT
#include "sched/timer/wake_rhythm.h"

#include <gtest/gtest.h>

namespace weft::sched {
namespace {

constexpr std::int64_t kMs = 1'000'000, kStart = 1'000 * kMs;

TEST(WakeRhythm, is_known_after_two_intervals) {
  WakeRhythm rhythm;
  EXPECT_EQ(rhythm.after(kStart), WakeRhythm::kNever);
  EXPECT_EQ(rhythm.after(kStart + kMs), WakeRhythm::kNever);
  EXPECT_EQ(rhythm.after(kStart + 2 * kMs), kStart + 3 * kMs);
  EXPECT_EQ(rhythm.after(kStart + 3 * kMs), kStart + 4 * kMs);
}

TEST(WakeRhythm, survives_who_is_woken_in_the_middle_and_sleeps_on) {
  WakeRhythm rhythm;
  for (int i = 0; i < 3; ++i) rhythm.after(kStart + i * kMs);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rhythm.after(kStart + 2 * kMs), kStart + 3 * kMs);
  EXPECT_EQ(rhythm.after(kStart + 3 * kMs), kStart + 4 * kMs);
}

TEST(WakeRhythm, is_lost_when_an_interval_differs_and_found_again) {
  WakeRhythm rhythm;
  for (int i = 0; i < 3; ++i) rhythm.after(kStart + i * kMs);
  EXPECT_EQ(rhythm.after(kStart + 2 * kMs + kMs / 2), WakeRhythm::kNever);
  EXPECT_EQ(rhythm.after(kStart + 3 * kMs + kMs / 2), WakeRhythm::kNever);
  EXPECT_EQ(rhythm.after(kStart + 4 * kMs + kMs / 2), kStart + 5 * kMs + kMs / 2);
}

TEST(WakeRhythm, of_long_intervals_or_backwards_is_none) {
  WakeRhythm slow, back;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(slow.after(kStart + i * 2 * WakeRhythm::kLongestNs), WakeRhythm::kNever);
    EXPECT_EQ(back.after(kStart - i * kMs), WakeRhythm::kNever);
  }
}

}  // namespace
}  // namespace weft::sched
