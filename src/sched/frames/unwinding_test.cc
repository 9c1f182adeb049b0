// SPDX-License-Identifier: MIT
#include "sched/frames/unwinding.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "os/clock.h"

namespace weft::sched {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// One test only, because the end is for good.
TEST(Unwinding, ends_when_the_last_walk_does_and_allows_none_after_that) {
  std::atomic<bool> walks{false}, may_leave{false}, left{false}, ended{false};
  std::thread walker([&] {
    {
      const Unwinding walk;
      EXPECT_TRUE(walk.allowed());
      walks = true;
      while (!may_leave) std::this_thread::yield();
      left = true;
    }
  });
  while (!walks) std::this_thread::yield();
  std::thread exiting([&] {
    Unwinding::end(os::now_ns() + 60'000 * kMs);
    EXPECT_TRUE(left);
    ended = true;
  });
  for (bool allowed = true; allowed; std::this_thread::yield()) allowed = Unwinding().allowed();
  EXPECT_FALSE(ended);
  may_leave = true;
  exiting.join();
  walker.join();
  EXPECT_FALSE(Unwinding().allowed());

  const Unwinding stuck;
  const std::int64_t begin = os::now_ns();
  Unwinding::end(begin + 20 * kMs);
  EXPECT_GE(os::now_ns(), begin + 20 * kMs);
}

}  // namespace
}  // namespace weft::sched
