// SPDX-License-Identifier: MIT
#pragma once
#include <ucontext.h>
#include <cstdint>

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

// Did the signal come between the end of another one's handler and its return, just before the first instruction of that? Without
// call-frame information for these instructions (an emulator brings its own, without) libgcc's unwinder knows them on aarch64, but
// looks for what they return to in the wrong place, and reads anywhere.
inline bool returns_from_handler([[maybe_unused]] const void* ucontext) noexcept {
#if defined(__aarch64__)
  constexpr std::uint32_t kReturn = 0xd2801168;  // mov x8, #139; then svc #0
  const std::uintptr_t pc = static_cast<const ucontext_t*>(ucontext)->uc_mcontext.pc;
  return pc % sizeof kReturn == 0 && *reinterpret_cast<const std::uint32_t*>(pc) == kReturn;
#else
  return false;
#endif
}

}  // namespace weft::arch
