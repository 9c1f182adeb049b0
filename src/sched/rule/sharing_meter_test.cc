// SPDX-License-Identifier: MIT
#include "sched/rule/sharing_meter.h"

#include <gtest/gtest.h>

namespace weft::sched {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// retreats(): so many meetings at equal distances. True: at one of them the meter said "retreat"; none follows it.
class SharingMeterTest : public testing::Test {
 protected:
  bool retreats(std::int64_t apart_ns, int meetings, bool on_trial = false) {
    for (int i = 0; i < meetings; ++i) {
      now_ns_ += apart_ns;
      ++used_;
      if (meter_.meet() && meter_.judge(now_ns_, on_trial)) return true;
    }
    return false;
  }

  SharingMeter meter_;
  std::int64_t now_ns_ = 1'000 * kMs;
  int used_ = 0;
};

TEST_F(SharingMeterTest, meetings_that_take_a_third_of_the_time_are_too_many) { EXPECT_TRUE(retreats(1'500, 1'000)); }

TEST_F(SharingMeterTest, meetings_that_take_a_fifth_of_the_time_are_not) { EXPECT_FALSE(retreats(2'500, 100'000)); }

TEST_F(SharingMeterTest, a_burst_is_no_reason) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(retreats(100, 64));
    EXPECT_FALSE(retreats(100'000, 64));
  }
}

TEST_F(SharingMeterTest, a_few_dozen_tell_at_first_and_fewer_on_trial) {
  ASSERT_FALSE(retreats(1'000'000, 64));  // ends the window that began long ago
  used_ = 0;
  ASSERT_TRUE(retreats(100, 1'000));
  EXPECT_EQ(used_, 32 * SharingMeter::kTooOften);
  used_ = 0;
  ASSERT_TRUE(retreats(100, 1'000, true));
  EXPECT_EQ(used_, 32);
}

TEST_F(SharingMeterTest, waiting_counts_as_long_as_it_took) {
  int told = 0;
  for (int i = 0; i < 10; ++i) {
    now_ns_ += 30'000;
    if (meter_.lose(20'000) && meter_.judge(now_ns_, false)) ++told;
  }
  EXPECT_EQ(told, 7);  // not in the first window (it began long ago) and the next two
}

TEST_F(SharingMeterTest, is_suspected_until_a_window_is_fine) {
  ASSERT_TRUE(retreats(100, 1'000));
  EXPECT_EQ(meter_.suspected_ns(), 0);
  meter_.suspect(now_ns_, 77);
  ASSERT_TRUE(retreats(100, 1'000));
  EXPECT_GT(meter_.suspected_ns(), 0);
  EXPECT_EQ(meter_.uses_then(), 77u);
  EXPECT_FALSE(retreats(100'000, 64));
  EXPECT_EQ(meter_.suspected_ns(), 0);
}

TEST(Retreat, lasts_longer_each_time_until_it_has_not_been_on_for_long) {
  Retreat retreat;
  EXPECT_TRUE(retreat.was_never_on());
  EXPECT_FALSE(retreat.is_on(0));
  EXPECT_FALSE(retreat.was_just_on(0));
  std::int64_t now = 5 * kMs;
  for (const std::int64_t length : {10 * kMs, 40 * kMs, 160 * kMs, 160 * kMs}) {
    retreat.begin(now);
    EXPECT_FALSE(retreat.was_never_on());
    EXPECT_TRUE(retreat.is_on(now + length - 1));
    EXPECT_FALSE(retreat.is_on(now + length));
    now += length;
    EXPECT_TRUE(retreat.was_just_on(now));
  }
  now += Retreat::kLongestNs;
  EXPECT_FALSE(retreat.was_just_on(now));
  retreat.begin(now);
  EXPECT_EQ(retreat.until_ns(), now + 10 * kMs);
}

TEST(Retreat, that_was_wrong_leaves_nothing_behind) {
  Retreat retreat;
  retreat.begin(0);
  retreat.begin(10 * kMs);
  EXPECT_EQ(retreat.until_ns(), 50 * kMs);
  retreat.take_back(11 * kMs);
  EXPECT_FALSE(retreat.is_on(11 * kMs));
  EXPECT_FALSE(retreat.was_just_on(11 * kMs));
  retreat.begin(12 * kMs);
  EXPECT_EQ(retreat.until_ns(), 22 * kMs);
}

TEST(Retreat, end_of_one_that_is_over_changes_nothing) {
  Retreat retreat;
  retreat.begin(0);
  retreat.end(500 * kMs);
  EXPECT_FALSE(retreat.was_just_on(500 * kMs));
}

}  // namespace
}  // namespace weft::sched
