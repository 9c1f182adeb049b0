// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/weft.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/delay_site.h"

// Delays stretch the windows of the protocols while everything happens at once. Checks that every window is reached.
namespace weft {
namespace {

using namespace std::chrono_literals;

std::map<std::string, std::uint64_t> visits() {
  std::map<std::string, std::uint64_t> result;
  for (const base::DelaySite* site = base::all_delay_sites(); site != nullptr; site = site->next)
    result[site->name] += site->visits.load_relaxed();
  return result;
}

std::vector<std::string> missing_sites() {
  const auto reached = visits();
  std::vector<std::string> missing;
  for (const char* name : {"switch.before_save",
                           "switch.before_save_to_g0",
                           "ready.before_queue",
                           "submit.before_fence",
                           "submit.before_wake",
                           "retire.before_recheck",
                           "retire.before_sleep",
                           "passive.before_check",
                           "passive.before_sleep",
                           "poller.before_sleep",
                           "spinner.before_leaving",
                           "call.entered",
                           "call.leaving",
                           "call.taken",
                           "wake.popped",
                           "wake_passive.cleared",
                           "timer.added",
                           "world.stopping",
                           "timer.popped",
                           "task.finishing",
                           "task.gave_up"})
    if (!reached.contains(name)) missing.push_back(name);
  return missing;
}

void everything_at_once() {
  std::atomic<bool> stop{false};
  wait_group background;
  background.go([&] {
    while (!stop) this_goroutine::sleep_for(1ms);
  });
  background.go([&] {
    while (!stop) blocking([] { usleep(100); });
  });
  background.go([&] {
    os_thread_lock lock;
    while (!stop) this_goroutine::yield();
  });
  background.go([&] {
    for (int n = 1; !stop; ++n) {
      this_goroutine::sleep_for(3ms);
      runtime::set_maxprocs(1 + n % 4);
    }
  });
  std::thread foreign([&] {
    while (!stop) {
      wait_group group;
      for (int i = 0; i < 5; ++i) group.go([] { this_goroutine::yield(); });
      group.wait();
    }
  });
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> sum{0};
    wait_group group;
    for (int i = 0; i < 100; ++i)
      group.go([&] {
        this_goroutine::yield();
        ++sum;
      });
    group.wait();
    ASSERT_EQ(sum, 100);
    std::vector<task<int>> tasks;
    for (int i = 0; i < 30; ++i)
      tasks.push_back(spawn([i] {
        if (i % 3 == 0) this_goroutine::sleep_for(50us);
        return i;
      }));
    for (int i = 0; i < 30; ++i) {
      tasks[static_cast<std::size_t>(i)].wait_for(20us);
      ASSERT_EQ(tasks[static_cast<std::size_t>(i)].join(), i);
    }
    this_goroutine::sleep_for(1ms);
  }
  stop = true;
  blocking([&] { foreign.join(); });
  background.wait();
}

TEST(DelaySites, every_window_is_reached_and_nothing_is_lost_in_any) {
#if !WEFT_DEBUG_CHECKS
  GTEST_SKIP() << "the sites exist in checked builds only";
#endif
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    base::set_delay_seed(seed);
    run(options{.maxprocs = 2}, everything_at_once);
    if (seed >= 3 && missing_sites().empty()) break;
  }
  base::set_delay_seed(0);
  EXPECT_TRUE(missing_sites().empty()) << "never reached: " << ::testing::PrintToString(missing_sites());
}

}  // namespace
}  // namespace weft
