// SPDX-License-Identifier: MIT
#include <unistd.h>
#include <chrono>
#include <cstdlib>

#include "support/runtime_test.h"

// The P of a goroutine that is in a blocking call gets no thread, because there are no more: what waits on that P goes to the
// others. It must not wait for the end of the call, wherever the policy keeps it.
namespace {

using namespace weft::test;

[[maybe_unused]] const int few_threads = setenv("WEFT_MAX_THREADS", "4", 0);  // before the runtime starts

class StrandedWork : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(StrandedWork);

constexpr int kChildren = 20;

TEST_P(StrandedWork, of_a_processor_without_a_thread_is_run_by_others) {
  if (procs() == 1) GTEST_SKIP() << "there is no other P";
  std::atomic<bool> other_runs{false}, both_run{false}, call_is_over{false};
  std::atomic<int> children{0};
  weft::wait_group group;
  weft::event end;
  std::atomic<int> locked{0};
  for (int i = 0; i < 2; ++i) {  // each keeps a thread for itself: two are left
    group.go([&] {
      weft::lock_os_thread();
      ++locked;
      end.wait();
      weft::unlock_os_thread();
    });
  }
  ASSERT_TRUE(spin_until([&] { return locked == 2; }));
  // Computes on the second thread, and yields: it never looks for work further away than its own P and the global queue.
  group.go([&] {
    other_runs = true;
    while (!both_run) weft::preempt_point();
    while (children < kChildren && !call_is_over) weft::this_goroutine::yield();
  });
  group.go([&] {
    while (!other_runs) weft::preempt_point();
    both_run = true;
    for (int i = 0; i < kChildren; ++i) group.go([&] { ++children; });
    const int ran = weft::blocking([&] {
      const auto limit = std::chrono::steady_clock::now() + 5s * kSlowdown;
      while (children < kChildren && std::chrono::steady_clock::now() < limit) usleep(1000);
      return children.load();
    });
    call_is_over = true;
    end.set();
    EXPECT_EQ(ran, kChildren) << "goroutines ran during the call";
  });
  group.wait();
}

}  // namespace
