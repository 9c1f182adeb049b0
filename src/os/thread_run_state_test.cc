// SPDX-License-Identifier: MIT
#include "os/thread_run_state.h"

#include <gtest/gtest.h>
#include <atomic>
#include <thread>

#include "os/note.h"
#include "os/thread.h"

namespace weft::os {
namespace {

// Whether the thread is seen in that state within ten seconds.
bool is_seen(pid_t thread, bool sleeping) {
  const std::int64_t end = now_ns() + 10'000'000'000;
  while (thread_sleeps(thread) != sleeping && now_ns() < end) std::this_thread::yield();
  return now_ns() < end;
}

TEST(ThreadRunState, tells_a_thread_that_sleeps_from_one_that_computes) {
  std::atomic<pid_t> thread{0};
  std::atomic<bool> computes{false}, stop{false};
  Note note;
  std::thread other([&] {
    thread = thread_id();
    note.wait();
    computes = true;
    while (!stop) asm volatile("");
  });
  while (thread == 0) std::this_thread::yield();
  EXPECT_TRUE(is_seen(thread, true));
  note.signal();
  while (!computes) std::this_thread::yield();
  EXPECT_TRUE(is_seen(thread, false));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(thread_sleeps(thread)) << "also while it has no CPU";
  stop = true;
  other.join();
}

TEST(ThreadRunState, knows_nothing_of_threads_that_are_not_there) { EXPECT_FALSE(thread_sleeps(1 << 30)); }

}  // namespace
}  // namespace weft::os
