// SPDX-License-Identifier: MIT
#include "sched/memory/starvation.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "arch/restart_call.h"
#include "os/clock.h"

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
  const std::int64_t late = 100'000'000 * kMs;  // so late that the share does not limit the lengths
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

// As while the world is to stop: the runtime's signal comes again and again, and restarts the interrupted call.
TEST(Starvation, signals_that_restart_a_pause_do_not_make_it_longer) {
  struct sigaction action{};
  action.sa_sigaction = [](int, siginfo_t*, void* context) { arch::restart_interrupted_call(context, false); };
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGUSR2, &action, nullptr);
  constexpr std::int64_t kStorm = 8'000 * kMs;
  const pthread_t self = pthread_self();
  std::atomic<bool> ended{false};
  const std::int64_t began = os::now_ns();
  std::thread storm([&] {
    while (!ended && os::now_ns() - began < kStorm) {
      std::this_thread::sleep_for(std::chrono::microseconds(300));
      pthread_kill(self, SIGUSR2);
    }
  });
  Starvation starvation;
  starvation.begin(3, began - 500 * kMs);  // a fifth of these 500 ms may be spent
  int pauses = 0;
  for (int i = 0; i < 400; ++i) {
    const std::int64_t before = os::now_ns();
    starvation.visit();
    pauses += os::now_ns() - before >= kMs;
  }
  const std::int64_t took = os::now_ns() - began;
  ended = true;
  storm.join();
  EXPECT_GT(pauses, 0);
  EXPECT_LT(took, kStorm);
}

}  // namespace
}  // namespace weft::sched
