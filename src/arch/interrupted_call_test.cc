// SPDX-License-Identifier: MIT
#include "arch/interrupted_call.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace weft::arch {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

std::atomic<int> inside, outside, behind;

void on_signal(int, siginfo_t*, void* context) {
  switch (interrupted_call_state(context)) {
    case CallState::kInside:  ++inside; break;
    case CallState::kOutside: ++outside; break;
    case CallState::kBehind:  ++behind; break;
  }
}

// Signals a thread that runs `body` until the handler has given the expected answer five times, or 10 s are over.
// `release` lets the last body end.
template <class Body, class Release = void (*)()>
bool handler_says(std::atomic<int>& expected, int flags, Body body, Release release = [] {}) {
  inside = outside = behind = 0;
  struct sigaction action{}, before{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | flags;
  sigaction(SIGUSR1, &action, &before);
  std::atomic<bool> stop{false};
  std::thread thread([&] {
    while (!stop) body();
  });
  const auto end = Clock::now() + 10s;
  while (expected < 5 && Clock::now() < end) {
    std::this_thread::sleep_for(1ms);
    pthread_kill(thread.native_handle(), SIGUSR1);
  }
  stop = true;
  release();
  thread.join();
  sigaction(SIGUSR1, &before, nullptr);
  return expected >= 5;
}

void sleep_a_little() {
  const timespec time{0, 20'000'000};
  nanosleep(&time, nullptr);
}

TEST(InterruptedCall, knows_who_sleeps_in_a_call_that_fails) {
  EXPECT_TRUE(handler_says(inside, 0, sleep_a_little));
  EXPECT_TRUE(handler_says(inside, SA_RESTART, [] { poll(nullptr, 0, 20); })) << "poll is never restarted";
}

TEST(InterruptedCall, knows_who_sleeps_in_a_call_that_is_made_again) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto read_byte = [&] {
    char byte;
    EXPECT_EQ(read(ends[0], &byte, 1), 1) << "restarted, not failed";
  };
  EXPECT_TRUE(handler_says(inside, SA_RESTART, read_byte, [&] { EXPECT_EQ(write(ends[1], "", 1), 1); }));
  close(ends[0]);
  close(ends[1]);
}

TEST(InterruptedCall, knows_who_computes) {
  EXPECT_TRUE(handler_says(outside, SA_RESTART, [] {
    for (int i = 0; i < 1'000'000; ++i) asm volatile("");
  }));
  EXPECT_EQ(inside, 0);
}

}  // namespace
}  // namespace weft::arch
