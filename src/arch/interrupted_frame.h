// SPDX-License-Identifier: MIT
#pragma once
#include <ucontext.h>

namespace weft::arch {

// Where a signal came: the instruction, and the frame pointer (of a function compiled with one).
struct InterruptedFrame {
  const void* pc;
  const void* pointer;
};

inline InterruptedFrame interrupted_frame(const void* ucontext) noexcept {
  const auto& machine = static_cast<const ucontext_t*>(ucontext)->uc_mcontext;
#if defined(__x86_64__)
  return {reinterpret_cast<const void*>(machine.gregs[REG_RIP]), reinterpret_cast<const void*>(machine.gregs[REG_RBP])};
#else
  return {reinterpret_cast<const void*>(machine.pc), reinterpret_cast<const void*>(machine.regs[29])};
#endif
}

}  // namespace weft::arch
