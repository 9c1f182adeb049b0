// SPDX-License-Identifier: MIT
#include "os/early_timer.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "os/clock.h"

namespace weft::os {
namespace {

// Timerfds of this process.
template <class F>
void for_each_timer(F f) {
  std::vector<int> found;
  DIR* const descriptors = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(descriptors)) {
    char target[64] = {};
    const std::string path = std::string("/proc/self/fd/") + entry->d_name;
    if (readlink(path.c_str(), target, sizeof target - 1) > 0 && std::string(target) == "anon_inode:[timerfd]")
      found.push_back(std::stoi(entry->d_name));
  }
  closedir(descriptors);
  for (const int fd : found) f(fd);
}

// What the kernel says is left of each, in ns.
std::vector<std::int64_t> times_left() {
  std::vector<std::int64_t> left;
  for_each_timer([&](int fd) {
    itimerspec value{};
    if (timerfd_gettime(fd, &value) == 0)
      left.push_back(value.it_value.tv_sec * 1'000'000'000 + value.it_value.tv_nsec);
  });
  std::sort(left.begin(), left.end());
  return left;
}

class EarlyTimerTest : public testing::Test {
 protected:
  void SetUp() override {
    // On one CPU: who moves begins anew.
    ASSERT_EQ(sched_getaffinity(0, sizeof before_, &before_), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    ASSERT_TRUE(times_left().empty());
  }
  void TearDown() override {
    for_each_timer([](int fd) { close(fd); });  // the runtime has one timer for the life of the process
    sched_setaffinity(0, sizeof before_, &before_);
  }
  cpu_set_t before_;
};

TEST_F(EarlyTimerTest, sets_both_times) {
  EarlyTimer timer;
  const std::int64_t now = now_ns(), at = now + 10'000'000'000, then = now + 20'000'000'000;
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
  const std::int64_t now = now_ns(), second = 1'000'000'000;
  timer.set(now + 10 * second, now + 20 * second);
  for (int i = 2; i < 10; ++i)
    EXPECT_EQ(timer.set(now + i * 10 * second + 3'000, now + (i + 1) * 10 * second), now + i * 10 * second) << i;
  EXPECT_EQ(timer.set(now + 95 * second, now + 110 * second), now + 95 * second) << "not what was told";
}

TEST_F(EarlyTimerTest, without_descriptors_it_does_nothing) {
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{0, limit.rlim_max};
  const std::int64_t at = now_ns() + 1'000'000'000;
  EarlyTimer timer;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  errno = 7;
  EXPECT_EQ(timer.set(at, at + 1'000'000), at);
  EXPECT_EQ(errno, 7);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(timer.set(at, at + 1'000'000), at);
  EXPECT_TRUE(times_left().empty()) << "refused once, it does not try again";
}

}  // namespace
}  // namespace weft::os
