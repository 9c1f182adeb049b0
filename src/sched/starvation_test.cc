// SPDX-License-Identifier: MIT
#include "sched/starvation.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace weft::sched {
namespace {

constexpr std::int64_t kMs = 1'000'000;

TEST(Starvation, is_off_until_it_begins) {
  Starvation starvation;
  EXPECT_FALSE(starvation.on());
  starvation.begin(1, 0);
  EXPECT_TRUE(starvation.on());
}

TEST(Starvation, takes_at_most_a_fifth_of_the_time_and_most_of_that) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Starvation starvation;
    starvation.begin(seed, 0);
    std::int64_t now = 0, slept = 0;
    for (int i = 0; i < 20'000; ++i, now += kMs) {
      const std::int64_t length = starvation.draw(now);
      slept += length;
      now += length;
      ASSERT_LE(slept, now / 5 + length);
    }
    EXPECT_GT(slept, now / 10) << "seed " << seed;
  }
}

TEST(Starvation, lengths_are_from_a_millisecond_to_two_seconds_and_of_every_size) {
  Starvation starvation;
  starvation.begin(7, 0);
  int sizes[11] = {};
  const std::int64_t late = 100'000'000 * kMs;  // so much time has passed that the share is no limit
  for (int i = 0; i < 50'000; ++i) {
    const std::int64_t length = starvation.draw(late);
    if (length == 0) continue;
    ASSERT_GE(length, kMs);
    ASSERT_LT(length, 2048 * kMs);
    int size = 0;
    while ((length / kMs) >> (size + 1) != 0) ++size;
    ++sizes[size];
  }
  for (const int count : sizes) EXPECT_GT(count, 50'000 / 16 / 11 / 2);
}

TEST(Starvation, the_seed_decides) {
  const auto lengths = [](std::uint64_t seed) {
    Starvation starvation;
    starvation.begin(seed, 0);
    std::vector<std::int64_t> drawn;
    for (int i = 0; i < 200; ++i) drawn.push_back(starvation.draw(100'000'000 * kMs));
    return drawn;
  };
  EXPECT_EQ(lengths(3), lengths(3));
  EXPECT_NE(lengths(3), lengths(4));
}

TEST(Starvation, many_threads_share_one_allowance) {
  Starvation starvation;
  starvation.begin(1, 0);
  const std::int64_t now = 10'000 * kMs;
  std::vector<std::int64_t> slept(4);
  std::vector<std::thread> threads;
  for (auto& mine : slept)
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) mine += starvation.draw(now);
    });
  for (auto& thread : threads) thread.join();
  std::int64_t sum = 0;
  for (const std::int64_t mine : slept) sum += mine;
  EXPECT_LE(sum, now / 5);
  EXPECT_GT(sum, now / 10);
}

}  // namespace
}  // namespace weft::sched
