// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// A call from nowhere: the handler of a signal makes the interrupted code call weft_at_injection() when the handler returns, and
// go on afterwards as if nothing had happened.
//   Saved     everything: flags, general registers, the whole vector state and its modes. Below the interrupted stack pointer
//             128 bytes are left alone (the red zone).
//   aarch64   a register would be lost on the way back, which needs one to jump with: nothing is injected there.
namespace weft::arch {

// The interrupted stack pointer; 0: not known on this processor.
std::uintptr_t interrupted_stack_pointer(const void* ucontext) noexcept;

// False: this processor has no way to.
bool inject_call(void* ucontext) noexcept;

}  // namespace weft::arch

extern "C" {
// Where the interrupted code goes on after the handler; not an ordinary function.
void weft_injected();
// On the interrupted goroutine's stack; may switch.
void weft_at_injection();
}
