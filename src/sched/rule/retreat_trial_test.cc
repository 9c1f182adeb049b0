// SPDX-License-Identifier: MIT
#include "sched/rule/retreat_trial.h"

#include <gtest/gtest.h>

namespace weft::sched {
namespace {

using Verdict = RetreatTrial::Verdict;
constexpr std::int64_t kMs = 1'000'000;

// A program that uses channels with_per_ms times a millisecond with the P that retreats, and without_per_ms times
// without.
class Trial : public testing::Test {
 protected:
  Verdict run(std::uint64_t with_per_ms, std::uint64_t without_per_ms) {
    trial_.begin(now_ns_, {with_per_ms, kMs});
    for (int looks = 0; looks < 100'000; ++looks) {
      now_ns_ += 10'000;
      uses_ += static_cast<std::uint32_t>(without_per_ms / 100);
      if (const Verdict verdict = trial_.look(now_ns_, uses_); verdict != Verdict::kNone) return verdict;
      EXPECT_GT(trial_.next_look_ns(), now_ns_ - 10'000);
    }
    return Verdict::kNone;
  }
  RetreatTrial trial_;
  std::int64_t now_ns_ = 1'000 * kMs;
  std::uint32_t uses_ = UINT32_MAX - 5'000;  // so that the count wraps
};

TEST_F(Trial, was_right_where_the_second_core_brought_nothing) {
  EXPECT_EQ(run(10'000, 10'000), Verdict::kRight);
  EXPECT_EQ(run(10'000, 20'000), Verdict::kRight);
  EXPECT_EQ(run(11'000, 10'000), Verdict::kRight);
}

TEST_F(Trial, was_wrong_where_the_second_core_brought_much) {
  EXPECT_EQ(run(20'000, 10'000), Verdict::kWrong);
  EXPECT_EQ(run(13'000, 10'000), Verdict::kWrong);
}

TEST_F(Trial, trusts_the_meter_where_nobody_uses_channels) { EXPECT_EQ(run(50, 0), Verdict::kRight); }

TEST_F(Trial, is_over_in_a_millisecond) {
  const std::int64_t began = now_ns_;
  run(20'000, 10'000);
  EXPECT_LT(now_ns_ - began, kMs);
  EXPECT_FALSE(trial_.is_on());
}

TEST_F(Trial, is_made_less_often_the_more_often_it_was_wrong) {
  std::int64_t pause = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(run(20'000, 10'000), Verdict::kWrong);
    EXPECT_GE(trial_.pause_ns(), pause);
    pause = trial_.pause_ns();
  }
  EXPECT_EQ(pause, RetreatTrial::kLongestPauseNs);
  ASSERT_EQ(run(10'000, 10'000), Verdict::kRight);
  ASSERT_EQ(run(20'000, 10'000), Verdict::kWrong);
  EXPECT_EQ(trial_.pause_ns(), RetreatTrial::kPauseNs);
}

}  // namespace
}  // namespace weft::sched
