// SPDX-License-Identifier: MIT
#include "sched/queue/idle_word.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/random.h"

namespace weft::sched {
namespace {

constexpr std::uint32_t kProcessors = 4;

TEST(IdleWord, is_quiet_when_nobody_is_idle_or_spinning) {
  IdleWord<> word;
  EXPECT_TRUE(word.look().quiet());
  EXPECT_EQ(word.pop(), IdleWord<>::kNone);
  ASSERT_TRUE(word.push(3, false, kProcessors));
  EXPECT_FALSE(word.look().quiet());
  EXPECT_EQ(word.pop(), 3);
  EXPECT_TRUE(word.look().quiet()) << "the version does not count";
}

TEST(IdleWord, gives_back_the_last_one_first) {
  IdleWord<> word;
  for (std::uint32_t i = 0; i < kMaxProcessors; ++i) ASSERT_TRUE(word.push(i, false, kMaxProcessors));
  EXPECT_EQ(word.look().idle(), kMaxProcessors);
  for (std::uint32_t i = kMaxProcessors; i-- > 0;) {
    ASSERT_EQ(word.look().head(), static_cast<std::int32_t>(i));
    ASSERT_EQ(word.pop(), static_cast<std::int32_t>(i));
    ASSERT_EQ(word.look().idle(), i);
  }
  EXPECT_EQ(word.look().head(), -1);
}

TEST(IdleWord, wakes_only_when_nobody_spins) {
  IdleWord<> word;
  EXPECT_EQ(word.pop_for_new_spinner(), IdleWord<>::kNone) << "nobody is idle";
  ASSERT_TRUE(word.push(0, false, kProcessors) && word.push(1, false, kProcessors));
  EXPECT_EQ(word.pop_for_new_spinner(), 1);
  EXPECT_EQ(word.look().spinning(), 1u);
  EXPECT_EQ(word.pop_for_new_spinner(), IdleWord<>::kNone) << "one looks already (A30)";
  const IdleView before = word.stop_spinning();
  EXPECT_EQ(before.spinning(), 1u);
  EXPECT_EQ(before.idle(), 1u) << "the last spinner learns that a P is idle (A22)";
  EXPECT_EQ(word.pop_for_new_spinner(), 0);
}

TEST(IdleWord, bounds_spinners_to_half_of_the_busy) {
  IdleWord<> word;
  EXPECT_FALSE(word.try_start_spinning(1)) << "nobody to steal from";
  EXPECT_TRUE(word.try_start_spinning(4));
  EXPECT_TRUE(word.try_start_spinning(4));
  EXPECT_FALSE(word.try_start_spinning(4));
  word.stop_spinning();
  ASSERT_TRUE(word.push(3, false, 4) && word.push(2, false, 4));
  EXPECT_FALSE(word.try_start_spinning(4)) << "one spins, two are busy";
  EXPECT_EQ(word.look().spinning(), 1u);
}

TEST(IdleWord, keeps_the_last_spinner_while_another_processor_is_busy) {
  IdleWord<> word;
  ASSERT_TRUE(word.try_start_spinning(4) && word.try_start_spinning(4));
  EXPECT_TRUE(word.push(0, true, 4)) << "another spins";
  EXPECT_FALSE(word.push(1, true, 4)) << "two are busy";
  EXPECT_EQ(word.look().spinning(), 1u);
  EXPECT_EQ(word.look().idle(), 1u) << "a refusal changes nothing";
  ASSERT_TRUE(word.push(2, false, 4));
  EXPECT_FALSE(word.push(1, true, 4)) << "one is busy";
  ASSERT_TRUE(word.push(3, false, 4));
  EXPECT_TRUE(word.push(1, true, 4)) << "all others are idle";
  EXPECT_EQ(word.look().spinning(), 0u);
  EXPECT_EQ(word.look().idle(), 4u);
}

TEST(IdleWord, remembers_that_the_spinner_sleeps) {
  IdleWord<> word;
  ASSERT_TRUE(word.try_start_spinning(2));
  EXPECT_FALSE(word.clear_passive());
  EXPECT_FALSE(word.set_passive(true).passive());
  EXPECT_TRUE(word.look().passive() && word.look().suppressed());
  word.lift_suppression();
  EXPECT_TRUE(word.look().passive());
  EXPECT_FALSE(word.look().suppressed());
  EXPECT_TRUE(word.clear_passive());
  EXPECT_FALSE(word.clear_passive());
  word.set_passive(false);
  EXPECT_FALSE(word.look().suppressed());
  EXPECT_EQ(word.look().spinning(), 1u);
}

TEST(IdleWord, fields_do_not_run_into_each_other) {
  IdleWord<> word;
  for (std::uint32_t i = 0; i < 2 * kMaxProcessors && word.try_start_spinning(kMaxProcessors); ++i) {
  }
  EXPECT_EQ(word.look().spinning(), kMaxProcessors / 2);
  word.set_passive(true);
  for (std::uint32_t i = 0; i < kMaxProcessors; ++i) ASSERT_TRUE(word.push(i, false, kMaxProcessors));
  EXPECT_EQ(word.look().idle(), kMaxProcessors);
  EXPECT_EQ(word.look().spinning(), kMaxProcessors / 2);
  EXPECT_TRUE(word.look().passive() && word.look().suppressed());
  // The version counts up without touching the other fields.
  for (int i = 0; i < 1'000'000; ++i) ASSERT_TRUE(word.push(static_cast<std::uint32_t>(word.pop()), false, kMaxProcessors));
  EXPECT_EQ(word.look().idle(), kMaxProcessors);
  EXPECT_EQ(word.look().spinning(), kMaxProcessors / 2);
}

TEST(IdleWord, gives_each_processor_to_one_thread_under_load) {
  constexpr std::uint32_t kCount = 8;
  IdleWord<> word;
  std::vector<std::atomic<int>> held(kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) ASSERT_TRUE(word.push(i, false, kCount));
  std::atomic<int> taken_twice{0};
  const auto work = [&](std::uint64_t seed) {
    base::Random random(seed);
    std::vector<std::uint32_t> mine;
    for (int i = 0; i < 100'000; ++i) {
      if (mine.empty() || (mine.size() < 3 && random.below(2) == 0)) {
        const bool spinning = random.below(2) == 0;
        const std::int32_t index = spinning ? word.pop_spinning() : word.pop();
        if (index < 0) continue;
        if (held[static_cast<std::size_t>(index)].fetch_add(1) != 0) ++taken_twice;
        mine.push_back(static_cast<std::uint32_t>(index));
        if (spinning) word.stop_spinning();
      } else {
        std::swap(mine[random.below(static_cast<std::uint32_t>(mine.size()))], mine.back());
        held[mine.back()].fetch_sub(1);
        ASSERT_TRUE(word.push(mine.back(), false, kCount));
        mine.pop_back();
      }
    }
    for (const std::uint32_t index : mine) {
      held[index].fetch_sub(1);
      ASSERT_TRUE(word.push(index, false, kCount));
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken_twice.load(), 0);
  EXPECT_EQ(word.look().idle(), kCount);
  EXPECT_EQ(word.look().spinning(), 0u);
  std::vector<bool> seen(kCount);
  for (std::int32_t index; (index = word.pop()) >= 0;) {
    ASSERT_FALSE(seen[static_cast<std::size_t>(index)]);
    seen[static_cast<std::size_t>(index)] = true;
  }
  EXPECT_TRUE(std::ranges::all_of(seen, [](bool each) { return each; }));
}

}  // namespace
}  // namespace weft::sched
