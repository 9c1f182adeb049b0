// SPDX-License-Identifier: MIT
// test-labels: no-tsan
// (TSan calls handlers itself, later.)
#include "os/self_signal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <atomic>
#include <thread>

#include "os/clock.h"
#include "os/thread.h"

namespace weft::os {
namespace {

std::atomic<int> signals{0};
std::atomic<pid_t> interrupted{0};
int mark;

void on_signal(int, siginfo_t* info, void*) {
  if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &mark) return;
  interrupted = thread_id();
  ++signals;
}

bool comes(int number) {
  const std::int64_t end = now_ns() + 10'000'000'000;
  while (signals < number && now_ns() < end) asm volatile("");
  return signals == number;
}

TEST(SelfSignal, comes_once_to_the_thread_that_has_set_it_and_no_more_after_the_end) {
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  std::thread([] {
    int timer = kNoTimer;
    for (int i = 1; i <= 100; ++i) {
      const int before = timer;
      timer = signal_self_after(30'000, timer, SIGUSR1, &mark);
      ASSERT_NE(timer, kNoTimer);
      EXPECT_TRUE(before == kNoTimer || timer == before) << "the same one, set again";
      ASSERT_TRUE(comes(i)) << i;
      EXPECT_EQ(interrupted, thread_id());
    }
    signal_self_after(50'000'000, timer, SIGUSR1, &mark);
    delete_timer(timer);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    EXPECT_EQ(signals, 100);
    delete_timer(kNoTimer);
  }).join();
}

}  // namespace
}  // namespace weft::os
