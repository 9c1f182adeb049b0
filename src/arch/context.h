// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "arch/context_layout.h"

// Context switch: the only assembly that moves the stack pointer.
//   Contract   a suspended context is its stack pointer; everything it needs is on its stack, in the layout of
//              context_layout.h. Callee-saved registers are saved. The modes in mxcsr, x87 and fpcr are not, because
//              they would cost 4 ns: code that changes the rounding mode restores it before it parks.
//   Ownership  switch_context stores the old stack pointer *last* and with release order. Once another thread sees it
//              non-null, the context is complete and may be resumed there.
//   Unwinding  each frame has call-frame information. The outermost frame of a goroutine has an undefined return
//              address, so that backtraces and exceptions end there.
extern "C" {

// Saves the current context in *save_sp (release) and resumes `to`. With `fresh`, `to` comes from fresh_context() and
// starts with weft_goroutine_main.
void weft_switch_context(void** save_sp, void* to, bool fresh) noexcept;

// Resumes `to`, forgetting the current context. Jumped to, not called: arch::jump_context.
void weft_jump_context(void* to) noexcept;

// Runs function(argument) on top of the suspended context `sp`, as if that context had called it, then returns.
// The context must stay suspended meanwhile. Used to walk a parked goroutine's stack with the ordinary unwinder.
void weft_call_on_context(void* sp, void (*function)(void*), void* argument) noexcept;

// Runs function(argument) on the stack that ends at `stack_top` (16-byte aligned), then returns.
void weft_call_on_stack(void* stack_top, void (*function)(void*), void* argument);

// Where weft_goroutine_main would return to: the address that marks the outermost frame. Not a function.
void weft_context_entry();
}

namespace weft::arch {

// The `to` of weft_switch_context for a context that has not run, aligned as a call instruction wants it.
inline void* fresh_context(void* stack_top) noexcept {
  return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(stack_top) & ~std::uintptr_t{15}) - 16);
}

// Resumes `to`, forgetting the current context. A jump, because a call that never returns would put the prediction of
// every later return off by one.
[[noreturn]] inline void jump_context(void* to) noexcept {
#if defined(__x86_64__)
  asm volatile("jmp weft_jump_context" : : "D"(to) : "memory");
#elif defined(__aarch64__)
  register void* argument asm("x0") = to;
  asm volatile("b weft_jump_context" : : "r"(argument) : "memory");
#endif
  __builtin_unreachable();
}

// The return address in the outermost record of a goroutine's chain of frame pointers: that of weft_goroutine_main.
inline std::uintptr_t outermost_return_address() noexcept {
  return reinterpret_cast<std::uintptr_t>(&weft_context_entry);
}

// Frame pointer and resume address of a suspended context, for stack walks and traces.
const void* context_frame_pointer(const void* sp) noexcept;
const void* context_resume_address(const void* sp) noexcept;

}  // namespace weft::arch
