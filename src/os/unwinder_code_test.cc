// SPDX-License-Identifier: MIT
// test-labels: qemu no-tsan
// (TSan calls handlers later, where nothing is interrupted.)
#include "os/unwinder_code.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unwind.h>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/sanitizer.h"
#include "os/linker_code.h"

namespace weft::os {
namespace {

using namespace std::chrono_literals;

std::atomic<int> walks{0}, met{0};

_Unwind_Reason_Code next_frame(_Unwind_Context* context, void*) {
  if (is_linker_code(_Unwind_GetIP(context))) return _URC_END_OF_STACK;
  if (!is_unwinder_code(_Unwind_GetIP(context), _Unwind_GetRegionStart(context))) return _URC_NO_REASON;
  ++met;
  return _URC_END_OF_STACK;
}

void on_signal(int) {
  _Unwind_Backtrace(next_frame, nullptr);
  ++walks;
}

struct Cleanup {
  ~Cleanup() { asm volatile(""); }
};
__attribute__((noinline)) int throw_at(int depth) {
  const Cleanup cleanup;
  volatile char space[40];
  space[depth] = 1;
  if (depth == 0) throw std::runtime_error("bottom");
  return throw_at(depth - 1) + space[depth];
}

void expect_functions_known() {
  for (const std::uintptr_t function :
       {reinterpret_cast<std::uintptr_t>(&_Unwind_RaiseException),
        reinterpret_cast<std::uintptr_t>(&_Unwind_ForcedUnwind), reinterpret_cast<std::uintptr_t>(&_Unwind_Resume),
        reinterpret_cast<std::uintptr_t>(&_Unwind_Resume_or_Rethrow)}) {
#if WEFT_ASAN
    if (function == reinterpret_cast<std::uintptr_t>(&_Unwind_RaiseException)) continue;  // ASan has one of its own
#endif
    EXPECT_TRUE(is_unwinder_code(function, function));
  }
  const auto other = reinterpret_cast<std::uintptr_t>(&throw_at);
  EXPECT_FALSE(is_unwinder_code(other, other));
}

// A thread throws all the time. Every 20 us, for two seconds, a signal handler walks its stack. Walking through the
// unwinder may read anywhere, but need not: what counts is that the walk met the unwinder.
void walk_stack_of_thread_that_throws() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  walks = met = 0;
  find_linker_code();
  raise(SIGUSR1);  // the first walk resolves symbols
  EXPECT_EQ(met, 0);
  std::atomic<bool> stop{false};
  std::thread throwing([&] {
    std::vector<std::byte> memory(64 * 1024);
    stack_t stack{};
    stack.ss_sp = memory.data();
    stack.ss_size = memory.size();
    sigaltstack(&stack, nullptr);
    for (int i = 0; !stop; ++i) EXPECT_THROW(throw_at(i % 8), std::runtime_error);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, nullptr);
  });
  const auto end = std::chrono::steady_clock::now() + 2s;
  while (std::chrono::steady_clock::now() < end) {
    pthread_kill(throwing.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(20us);
  }
  stop = true;
  throwing.join();
  EXPECT_GT(met, 0);
  EXPECT_GT(walks, met) << "everything is taken for the unwinder's";
}

// As in statically linked programs, where the unwinder is no module of its own: find_unwinder_code() has not run yet.
TEST(UnwinderCode, is_met_by_its_functions_and_not_walked_through) {
  expect_functions_known();
  walk_stack_of_thread_that_throws();
}

TEST(UnwinderCode, is_met_by_its_module_and_not_walked_through) {
  find_unwinder_code();
  expect_functions_known();
  walk_stack_of_thread_that_throws();
}

}  // namespace
}  // namespace weft::os
