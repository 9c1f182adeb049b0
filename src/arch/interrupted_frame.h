// SPDX-License-Identifier: MIT
#pragma once
#include <ucontext.h>
#include <cstddef>
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

// What else the signal has saved of the interrupted code, beside ucontext_t: null where it is part of that.
struct SavedVectors {
  const void* begin;
  const void* end;
};
inline SavedVectors saved_vectors([[maybe_unused]] const void* ucontext) noexcept {
#if defined(__x86_64__)
  // The part that every processor has; pointers are kept in the low halves of vectors, if at all.
  const auto* vectors = static_cast<const ucontext_t*>(ucontext)->uc_mcontext.fpregs;
  return {vectors, vectors != nullptr ? vectors + 1 : nullptr};
#else
  return {nullptr, nullptr};
#endif
}
constexpr std::size_t bytes_of_context() noexcept { return sizeof(ucontext_t); }

// Is it what a handler of a signal returns to? Without call-frame information for these instructions (an emulator brings its own, without)
// libgcc's unwinder knows them on aarch64, but may look for what they return to in the wrong place, and read anywhere: who walks
// a stack stops here.
inline bool ends_handler([[maybe_unused]] std::uintptr_t pc) noexcept {
#if defined(__aarch64__)
  constexpr std::uint32_t kReturn = 0xd2801168, kCall = 0xd4000001;  // mov x8, #139; svc #0
  const auto* code = reinterpret_cast<const std::uint32_t*>(pc);
  return pc != 0 && pc % sizeof kReturn == 0 && code[0] == kReturn && code[1] == kCall;
#else
  return false;
#endif
}

// Did the signal come between the end of another one's handler and its return?
inline bool returns_from_handler([[maybe_unused]] const void* ucontext) noexcept {
#if defined(__aarch64__)
  return ends_handler(static_cast<const ucontext_t*>(ucontext)->uc_mcontext.pc);
#else
  return false;
#endif
}

}  // namespace weft::arch
