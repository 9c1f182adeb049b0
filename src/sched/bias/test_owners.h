// SPDX-License-Identifier: MIT
#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/atomic.h"
#include "os/process_barrier.h"
#include "os/wait_list_lock.h"
#include "sched/bias/lock_owner.h"

// Owners for tests of biased_lock.h and biased_flag.h: the threads of the test. Those that have a number may own locks
// and flags.
namespace weft::sched {

struct TestOwners {
  using Owner = LockOwner;
  using BackOff = os::BackOff;
  static constexpr unsigned kThreads = 4;
  static constexpr std::uint8_t kStreak = 4;

  static inline thread_local constinit Owner* current = nullptr;
  static inline Owner owners[kThreads];
  static inline bool allowed = true;
  static inline std::atomic<long> biased{0}, revoked{0}, meetings{0};  // raw atomic: compared with numbers by tests

  static Owner* self() { return current; }
  static const Owner* find(Owner::Habit habit) { return &owners[Owner::number_of(habit) - 1]; }
  static bool may_rely() {
    if (allowed) ++biased;
    return allowed;
  }
  static void note_meeting() { ++meetings; }
  static void note_use(Owner&) {}
  static int begin_wait() { return 0; }
  static void note_wait(int) {}
  static void light_fence() { base::compiler_fence(); }
  static void heavy_fence() {
    ++revoked;
    ASSERT_TRUE(os::process_barrier());
  }
};

class OwnersTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!os::enable_process_barrier()) GTEST_SKIP() << "this kernel has no such barrier";
    for (unsigned i = 0; i < TestOwners::kThreads; ++i) TestOwners::owners[i].set_number(i + 1);
    TestOwners::current = &TestOwners::owners[0];
    TestOwners::allowed = true;
    TestOwners::biased = TestOwners::revoked = TestOwners::meetings = 0;
  }
  void TearDown() override { TestOwners::current = nullptr; }

  template <class F>
  static void on_another_thread(TestOwners::Owner* owner, F f) {
    std::thread([&] {
      TestOwners::current = owner;
      f();
    }).join();
  }
};

}  // namespace weft::sched
