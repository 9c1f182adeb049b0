// SPDX-License-Identifier: MIT
// test-labels: qemu no-tsan
// (TSan makes some of these calls itself, and calls handlers later.)
#include "arch/restart_call.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <thread>

#if defined(__x86_64__) && defined(__GLIBC__)
// Calls as glibc 2.41 makes them. First in one place for all cancellable calls, whose caller has the number on the
// stack, with a frame pointer and without. Then in the caller itself, where another number stands before.
asm(R"(
  .text
  .p2align 7
weft_test_one_place:
  .cfi_startproc
  mov %rdi, %r11
  mov %rsi, %rax
  mov %rdx, %rdi
  mov %rcx, %rsi
  mov %r8, %rdx
  mov %r9, %r10
  mov 8(%rsp), %r8
  mov 16(%rsp), %r9
  mov %r11, 8(%rsp)
  syscall
  ret
  .cfi_endproc

  .globl weft_test_call_in_one_place
weft_test_call_in_one_place:
  .cfi_startproc
  push %rbx
  .cfi_def_cfa_offset 16
  push %r9
  .cfi_def_cfa_offset 24
  mov %rcx, %r9
  mov %rsi, %rcx
  push %r8
  .cfi_def_cfa_offset 32
  mov 32(%rsp), %rsi
  mov %rdx, %r8
  mov %rdi, %rdx
  call weft_test_one_place
  add $16, %rsp
  .cfi_def_cfa_offset 16
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc

  .globl weft_test_call_in_one_place_with_frame
weft_test_call_in_one_place_with_frame:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset 6, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register 6
  sub $48, %rsp
  mov 16(%rbp), %rax
  push %r9
  push %r8
  mov %rcx, %r9
  mov %rdx, %r8
  mov %rsi, %rcx
  mov %rdi, %rdx
  mov %rax, %rsi
  call weft_test_one_place
  leave
  .cfi_def_cfa 7, 8
  ret
  .cfi_endproc

  .globl weft_test_call_in_place
weft_test_call_in_place:
  .cfi_startproc
  push %rbx
  .cfi_def_cfa_offset 16
  mov %rcx, %r10
  mov $39, %eax
  mov 16(%rsp), %rax
  syscall
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc

  .globl weft_test_call_in_place_with_frame
weft_test_call_in_place_with_frame:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset 6, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register 6
  mov %rcx, %r10
  mov 16(%rbp), %rax
  syscall
  leave
  .cfi_def_cfa 7, 8
  ret
  .cfi_endproc
)");
extern "C" {
using weft_test_call = long(long, long, long, long, long, long, long number);
weft_test_call weft_test_call_in_one_place, weft_test_call_in_one_place_with_frame, weft_test_call_in_place,
    weft_test_call_in_place_with_frame;
}
#endif

namespace weft::arch {
namespace {

using namespace std::chrono_literals;

std::atomic<int> made_again{0}, left_alone{0};
std::atomic<bool> may_unwind{true};

class RestartCall : public ::testing::Test {
 protected:
  RestartCall() {
    struct sigaction action{};
    action.sa_sigaction = [](int, siginfo_t*, void* context) {
      ++(restart_interrupted_call(context, may_unwind) ? made_again : left_alone);
    };
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGUSR2, &action, nullptr);
  }

  // Makes the call until the signal has come in the middle of one. Each call must end as if there had been no signal.
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

// Signals come faster than the sleep is long: a sleep made again in full each time would never end.
TEST_F(RestartCall, lets_a_sleep_end_however_many_signals_come) {
  constexpr auto kStorm = 3s;
  const auto sleep_once = [&](auto&& sleep) {
    const pthread_t self = pthread_self();
    std::atomic<bool> ended{false};
    const auto began = std::chrono::steady_clock::now();
    std::thread other([&] {
      while (!ended && std::chrono::steady_clock::now() - began < kStorm) {
        std::this_thread::sleep_for(10ms);
        pthread_kill(self, SIGUSR2);
      }
    });
    EXPECT_EQ(sleep(), 0);
    const auto took = std::chrono::steady_clock::now() - began;
    ended = true;
    other.join();
    EXPECT_GE(took, 48ms);
    return took;
  };
  // A busy machine may delay the signals until the sleep is over: then sleep once more.
  const auto sleep_in_storm = [&](auto&& sleep) {
    const int before = made_again;
    auto took = sleep_once(sleep);
    for (int tries = 0; made_again < before + 2 && tries < 100; ++tries) took = sleep_once(sleep);
    EXPECT_GT(made_again, before);
    return took;
  };
  EXPECT_LT(sleep_in_storm([] { return usleep(50'000); }), kStorm);
  EXPECT_LT(sleep_in_storm([this] { return nanosleep(&span_, nullptr); }), kStorm);
  EXPECT_LT(sleep_in_storm([this] { return clock_nanosleep(CLOCK_MONOTONIC, 0, &span_, nullptr); }), kStorm);
}

#if defined(__x86_64__) && defined(__GLIBC__)
TEST_F(RestartCall, finds_the_number_on_the_stack) {
  const auto sleep = [this](weft_test_call* call) {
    return
        [this, call] { return call(CLOCK_MONOTONIC, 0, reinterpret_cast<long>(&span_), 0, 0, 0, SYS_clock_nanosleep); };
  };
  interrupt(sleep(weft_test_call_in_one_place));
  interrupt(sleep(weft_test_call_in_one_place_with_frame));
  interrupt(sleep(weft_test_call_in_place));
  interrupt(sleep(weft_test_call_in_place_with_frame));
}

TEST_F(RestartCall, leaves_a_call_alone_that_only_the_unwinder_knows_while_it_may_not_be_asked) {
  may_unwind = false;
  left_alone = 0;
  const pthread_t self = pthread_self();
  std::atomic<bool> ended{false};
  std::thread other([&] {
    while (!ended) {
      pthread_kill(self, SIGUSR2);
      std::this_thread::sleep_for(1ms);
    }
  });
  const timespec long_span{60, 0};
  EXPECT_EQ(
      weft_test_call_in_one_place(CLOCK_MONOTONIC, 0, reinterpret_cast<long>(&long_span), 0, 0, 0, SYS_clock_nanosleep),
      -EINTR);
  ended = true;
  other.join();
  may_unwind = true;
  EXPECT_GT(left_alone, 0);
}
#endif

}  // namespace
}  // namespace weft::arch
