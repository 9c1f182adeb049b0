// SPDX-License-Identifier: MIT
#include "arch/stack_guard.h"

#include "arch/preempt_check.h"

// Not inline, because a compiler may keep the address of a thread_local in a register across a switch of threads.
namespace weft::arch {

__attribute__((noinline)) void set_stack_guard(std::uintptr_t guard) noexcept { weft_preempt_guard = guard; }
__attribute__((noinline)) std::uintptr_t stack_guard() noexcept { return weft_preempt_guard; }
__attribute__((noinline)) volatile std::uintptr_t* stack_guard_slot() noexcept { return &weft_preempt_guard; }

}  // namespace weft::arch
