// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::os {

// Starts a detached thread. 0, or the errno of the refusal.
int start_thread(void (*entry)(void*), void* argument, std::size_t stack_bytes, const char* name) noexcept;

// Lowest address and size of the calling thread's stack.
struct StackBounds {
  void* bottom;
  std::size_t size;
};
StackBounds current_thread_stack() noexcept;

pid_t thread_id() noexcept;

void signal_thread(pid_t thread, int signal) noexcept;  // does nothing if the thread is gone

// Reduces the timer slack of this thread to 1 us, from the kernel's default of 50 us.
void ask_for_precise_timers() noexcept;

// Blocks the signal for this thread alone, for ever; it may stay pending. Threads that this thread starts with
// start_thread() get the signal mask from before.
void never_hear_of(int signal) noexcept;
// Writing to a pipe without readers fails on this thread, instead of ending the program.
void survive_broken_pipes() noexcept;

// Number of threads of this process, or -1 where /proc is missing.
int count_threads() noexcept;

// An alternate signal stack for this thread, so that handlers run although a goroutine's stack is exhausted.
class SignalStack {
 public:
  SignalStack() noexcept;
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  StackBounds bounds() const noexcept;  // empty: this thread had one already

 private:
  void* memory_ = nullptr;
};

}  // namespace weft::os
