// SPDX-License-Identifier: MIT
#include "os/time_slice.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <cstdio>
#include <thread>

namespace weft::os {
namespace {

bool kernel_has_slices() {
  utsname names;
  int major = 0, minor = 0;
  if (uname(&names) != 0 || std::sscanf(names.release, "%d.%d", &major, &minor) != 2) return false;
  return major > 6 || (major == 6 && minor >= 12);
}

TEST(TimeSlice, is_short_where_the_kernel_knows_slices_and_leaves_policy_and_niceness_alone) {
  std::thread([] {
    sched_param parameters{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &parameters), 0);
    ASSERT_EQ(setpriority(PRIO_PROCESS, 0, 7), 0);
    const bool granted = ask_for_short_slices();
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 7);
    if (!kernel_has_slices()) GTEST_SKIP() << "this kernel is older than 6.12";
    EXPECT_TRUE(granted);
  }).join();
}

TEST(TimeSlice, leaves_idle_policy_alone) {
  std::thread([] {
    sched_param parameters{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_IDLE, &parameters), 0);
    EXPECT_FALSE(ask_for_short_slices());
    EXPECT_EQ(sched_getscheduler(0), SCHED_IDLE);
  }).join();
}

}  // namespace
}  // namespace weft::os
