// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "arch/context_layout.h"

// Context switch: the only assembly that moves the stack pointer.
//   Contract   a suspended context is its stack pointer; everything it needs is on its stack, in the layout of
//              context_layout.h. Callee-saved registers are saved; mxcsr/x87/fpcr modes are not (they cost 4 ns: code that
//              changes the rounding mode restores it before it parks).
//   Ownership  switch_context stores the old stack pointer *last* and with release order: once another thread sees it
//              non-null, the context is complete and may be resumed there.
//   Unwinding  each frame has call-frame information; the outermost frame of a goroutine has an undefined return address,
//              so that backtraces and exceptions end there.
extern "C" {

// Saves the current context in *save_sp (release) and resumes `to`.
void weft_switch_context(void** save_sp, void* to) noexcept;

// Resumes `to`, forgetting the current context.
[[noreturn]] void weft_jump_context(void* to) noexcept;

// Where a fresh context starts: calls weft_goroutine_main on its stack. Not callable.
void weft_context_entry() noexcept;

// Runs function(argument) on top of the suspended context `sp`, as if that context had called it, then returns.
// The context must stay suspended meanwhile. Used to walk a parked goroutine's stack with the ordinary unwinder.
void weft_call_on_context(void* sp, void (*function)(void*), void* argument) noexcept;

// Runs function(argument) on the stack that ends at `stack_top` (16-byte aligned), then returns.
void weft_call_on_stack(void* stack_top, void (*function)(void*), void* argument);
}

namespace weft::arch {

// Lays out a fresh context on the stack that ends at `stack_top`; the result can be resumed. Only the resume address is
// written: what the other registers hold at the start of a goroutine does not matter.
inline void* make_context(void* stack_top) noexcept {
  // Reached by a return that pops the frame: the stack pointer is then top - 16, aligned as a call instruction wants it.
  const auto top = reinterpret_cast<std::uintptr_t>(stack_top) & ~std::uintptr_t{15};
  auto* context = reinterpret_cast<std::byte*>(top - 16 - WEFT_CONTEXT_SIZE);
  auto entry = &weft_context_entry;
  std::memcpy(context + WEFT_CONTEXT_RESUME, &entry, sizeof entry);
  return context;
}

// Frame pointer and resume address of a suspended context, for walkers and traces.
const void* context_frame_pointer(const void* sp) noexcept;
const void* context_resume_address(const void* sp) noexcept;

}  // namespace weft::arch
