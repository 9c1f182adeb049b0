// SPDX-License-Identifier: MIT
#include "sched/frames/user_call.h"

#include "sched/frames/runtime_text.h"

namespace weft::sched {

// The empty asm statement keeps the compiler from making the call a jump: this function has to be on the stack.
__attribute__((noinline)) void call_user(void (*function)(void*), void* argument) {
  function(argument);
  asm volatile("");
}

namespace {
bool calls_user(std::uintptr_t function) noexcept {
  return function == entry_of_goroutines() || function == reinterpret_cast<std::uintptr_t>(&call_user) ||
         function == reinterpret_cast<std::uintptr_t>(&request_stop_by_user);
}
}  // namespace

bool RuntimeFrames::next(std::uintptr_t pc, std::uintptr_t function) noexcept {
  if (!in_runtime(pc)) {
    holds_nothing_ = false;
    return true;
  }
  holds_nothing_ |= calls_user(function);
  return holds_nothing_;
}

}  // namespace weft::sched
