// SPDX-License-Identifier: MIT
// test-labels: qemu no-tsan
// (TSan makes some of these calls itself, and calls handlers later.)
#include "arch/restart_call.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/select.h>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <thread>

namespace weft::arch {
namespace {

using namespace std::chrono_literals;

std::atomic<int> made_again{0};

class RestartCall : public ::testing::Test {
 protected:
  RestartCall() {
    struct sigaction action{};
    action.sa_sigaction = [](int, siginfo_t*, void* context) {
      made_again += restart_interrupted_call(context) ? 1 : 0;
    };
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGUSR2, &action, nullptr);
  }

  // Until the signal has come in the middle of a call; each of them ends as if there had been none.
  template <class F>
  void interrupt(F&& call) {
    for (int before = made_again, tries = 0; made_again == before; ++tries) {
      ASSERT_LT(tries, 100) << "no call was made again";
      const pthread_t self = pthread_self();
      std::thread other([self] {
        std::this_thread::sleep_for(10ms);
        pthread_kill(self, SIGUSR2);
      });
      const auto began = std::chrono::steady_clock::now();
      errno = 0;
      EXPECT_EQ(call(), 0) << "errno " << errno;
      EXPECT_GE(std::chrono::steady_clock::now() - began, 48ms);
      other.join();
    }
  }

  const timespec span_{0, 50'000'000};
};

TEST_F(RestartCall, hides_the_signal_from_poll) {
  interrupt([] { return poll(nullptr, 0, 50); });
}

TEST_F(RestartCall, hides_the_signal_from_select) {
  interrupt([] {
    timeval time{0, 50'000};
    return select(0, nullptr, nullptr, nullptr, &time);
  });
}

TEST_F(RestartCall, hides_the_signal_from_sleeping) {
  interrupt([this] { return nanosleep(&span_, nullptr); });
  interrupt([this] {
    timespec rest{};
    return nanosleep(&span_, &rest);
  });
  interrupt([this] { return clock_nanosleep(CLOCK_MONOTONIC, 0, &span_, nullptr); });
}

}  // namespace
}  // namespace weft::arch
