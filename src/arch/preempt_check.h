// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// The check that a compiler plugin (tools/compiler) places on loop back-edges, and its way into the runtime.
//   Check       x86-64:   cmpq %fs:0x70, %rsp ; jb cold ; ... ; cold: call weft_preempt_check ; jmp back
//               aarch64:  the same with the guard in the initial-exec thread variable weft_preempt_guard.
//               The compare is unsigned: a guard of 0 never fires, ~0 always does. -fsplit-stack's prologue compares
//               with the same guard, so that one store by sysmon reaches function entries and loops alike.
//   Convention  weft_preempt_check preserves every register, vector and x87 ones and their modes included, and clobbers
//               the flags only. So a check costs the loop around it no register. On aarch64 x16, x17 and x30 are
//               clobbered. It calls weft_preempt_slow(sp) with the floating-point modes that a thread starts with; sp
//               is the stack pointer of the checked function.
//   Red zone    the call would overwrite a leaf function's red zone, so the plugins compile instrumented code without
//               one.
//   Unwinding   the frame of weft_preempt_check has call-frame information; the caller's is exact at the call.
extern "C" {

// Called by instrumented code only: not an ordinary function (see Convention).
void weft_preempt_check() noexcept;

// What the runtime does about it. May switch; may return at any later time, on another thread. It must lower the guard
// before it returns, or the next check fires again.
void weft_preempt_slow(void* sp) noexcept;

#if defined(__aarch64__)
// The guard on aarch64, whose thread control block has no word for it.
extern thread_local constinit std::uintptr_t weft_preempt_guard __attribute__((tls_model("initial-exec")));
#endif
}
