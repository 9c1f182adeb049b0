// SPDX-License-Identifier: MIT
#include "sched/observe/wait_graph.h"

#include <gtest/gtest.h>
#include <weft/weft.h>

#include <atomic>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>

#include "sched/state/scheduler.h"

namespace weft::sched {
namespace {

// Goroutines that have ended still own stacks. Those may be given back to the system while a dump looks at them.
TEST(WaitGraph, is_made_while_stacks_are_given_back) {
  weft::run({.maxprocs = 2}, [] {
    std::atomic<bool> stop{false};
    std::thread trimmer([&] {
      while (!stop) {
        scheduler.stacks.begin_trim_interval();
        scheduler.stacks.trim(16);
      }
    });
    mutex held("held");
    held.lock();
    auto waiting = spawn([&] { held.lock(), held.unlock(); });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (std::chrono::steady_clock::now() < end) {
      // 400 goroutines at once: more stacks than a P keeps for itself.
      latch all(400);
      wait_group group;
      for (int k = 0; k < 400; ++k) group.go([&] { all.arrive_and_wait(); });
      group.wait();
      std::ostringstream text;
      runtime::dump(text);
      ASSERT_NE(text.str().find("waits for mutex \"held\""), std::string::npos) << text.str();
      ASSERT_NE(text.str().find("held by goroutine " + std::to_string(this_goroutine::get_id().value())), std::string::npos)
          << text.str();
    }
    held.unlock();
    waiting.join();
    stop = true;
    blocking([&] { trimmer.join(); });
  });
}

}  // namespace
}  // namespace weft::sched
