// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// An injected call: a signal handler makes the interrupted code call weft_at_injection() when the handler returns, and
// go on afterwards as if nothing had happened.
//   Saved     everything: flags, general registers, the vector state (vector_state.h) and its modes. The 128 bytes
//             below the interrupted stack pointer (the red zone) are left alone.
//   aarch64   nothing is injected, because the way back needs a register to jump with, whose value would be lost.
namespace weft::arch {

// The interrupted stack pointer; 0: not known on this processor.
std::uintptr_t interrupted_stack_pointer(const void* ucontext) noexcept;

// False: impossible on this processor, or the vector state is not known.
bool inject_call(void* ucontext) noexcept;

}  // namespace weft::arch

extern "C" {
// The interrupted thread goes on here after the handler. Not an ordinary function.
void weft_injected();
// Runs on the interrupted goroutine's stack; may switch.
void weft_at_injection();
}
