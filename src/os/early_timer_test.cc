// SPDX-License-Identifier: MIT
#include "os/early_timer.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <thread>
#include <vector>

#include "os/clock.h"

namespace weft::os {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// What the kernel says is left of each timer of this process, in ns. Their numbers begin at 0.
std::vector<std::int64_t> times_left() {
  std::vector<std::int64_t> left;
  for (int id = 0; id < 100; ++id) {
    itimerspec value{};
    if (syscall(SYS_timer_gettime, id, &value) == 0)
      left.push_back(value.it_value.tv_sec * kSecond + value.it_value.tv_nsec);
  }
  std::sort(left.begin(), left.end());
  return left;
}

class EarlyTimerTest : public testing::Test {
 protected:
  void SetUp() override {
    // On one CPU, because after a move both timers are set again.
    ASSERT_EQ(sched_getaffinity(0, sizeof before_, &before_), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    ASSERT_TRUE(times_left().empty());
  }
  void TearDown() override {
    for (int id = 0; id < 100; ++id)
      syscall(SYS_timer_delete, id);  // an EarlyTimer keeps its timers for the life of the process
    sched_setaffinity(0, sizeof before_, &before_);
  }
  cpu_set_t before_;
};

TEST_F(EarlyTimerTest, sets_both_times) {
  EarlyTimer timer;
  timer.open();
  const std::int64_t now = now_ns(), at = now + 10 * kSecond, then = now + 20 * kSecond;
  errno = 7;
  EXPECT_EQ(timer.set(at, then), at);
  EXPECT_EQ(errno, 7);
  const std::vector<std::int64_t> left = times_left();
  ASSERT_EQ(left.size(), 2u);
  EXPECT_GT(left[0], 0);
  EXPECT_LE(left[0], at - now);
  EXPECT_GT(left[1], at - now);
  EXPECT_LE(left[1], then - now);
}

TEST_F(EarlyTimerTest, the_next_sleep_takes_the_time_that_was_set_for_it) {
  EarlyTimer timer;
  timer.open();
  const std::int64_t now = now_ns();
  timer.set(now + 10 * kSecond, now + 20 * kSecond);
  for (int i = 2; i < 10; ++i)
    EXPECT_EQ(timer.set(now + i * 10 * kSecond + 3'000, now + (i + 1) * 10 * kSecond), now + i * 10 * kSecond) << i;
  EXPECT_EQ(timer.set(now + 95 * kSecond, now + 110 * kSecond), now + 95 * kSecond) << "not what was told";
}

TEST_F(EarlyTimerTest, without_timers_it_does_nothing) {
  EarlyTimer closed;
  const std::int64_t at = now_ns() + kSecond;
  errno = 7;
  EXPECT_EQ(closed.set(at, at + 1'000'000), at);
  EXPECT_EQ(errno, 7);
  EXPECT_TRUE(times_left().empty());

  EarlyTimer bereft;
  bereft.open();
  ASSERT_EQ(times_left().size(), 2u);
  for (int id = 0; id < 100; ++id) syscall(SYS_timer_delete, id);
  errno = 7;
  EXPECT_EQ(bereft.set(at, at + 1'000'000), at);
  EXPECT_EQ(errno, 7);
  EXPECT_EQ(bereft.set(at + 1'000'000, at + 2'000'000), at + 1'000'000) << "refused once, it does not try again";
}

std::atomic<int> signals_heard{0};

TEST_F(EarlyTimerTest, nobody_hears_of_it) {
  struct sigaction counting{}, before{};
  counting.sa_handler = [](int) { ++signals_heard; };
  ASSERT_EQ(sigaction(SIGURG, &counting, &before), 0);
  EarlyTimer timer;
  std::atomic<bool> opened{false}, done{false};
  std::thread owner([&] {
    timer.open();
    opened = true;
    while (!done) usleep(1000);
  });
  while (!opened) usleep(1000);
  for (int i = 0; i < 20; ++i) {
    const std::int64_t at = timer.set(now_ns() + 200'000, now_ns() + 400'000);
    while (now_ns() < at + 300'000) usleep(100);
  }
  EXPECT_EQ(times_left(), (std::vector<std::int64_t>{0, 0})) << "both have fired";
  EXPECT_EQ(signals_heard, 0);
  for (int id = 0; id < 100; ++id) syscall(SYS_timer_delete, id);  // before their thread ends
  done = true;
  owner.join();
  sigaction(SIGURG, &before, nullptr);
}

}  // namespace
}  // namespace weft::os
