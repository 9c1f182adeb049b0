// SPDX-License-Identifier: MIT
#pragma once
#include <ucontext.h>
#include <cstddef>
#include <cstdint>

namespace weft::arch {

// Where a signal interrupted the code: the instruction, and the frame pointer (if the function has one).
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

inline const void* stack_pointer_of(const void* ucontext) noexcept {
  const auto& machine = static_cast<const ucontext_t*>(ucontext)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(machine.gregs[REG_RSP]);
#else
  return reinterpret_cast<const void*>(machine.sp);
#endif
}

// The vector registers of the interrupted code, where the kernel saves them outside ucontext_t; null: they are in it.
struct SavedVectors {
  const void* begin;
  const void* end;
};
inline SavedVectors saved_vectors([[maybe_unused]] const void* ucontext) noexcept {
#if defined(__x86_64__)
  // Only the part that every processor has, because pointers are kept in the low halves of vectors, if at all.
  const auto* vectors = static_cast<const ucontext_t*>(ucontext)->uc_mcontext.fpregs;
  return {vectors, vectors != nullptr ? vectors + 1 : nullptr};
#else
  return {nullptr, nullptr};
#endif
}
constexpr std::size_t bytes_of_context() noexcept { return sizeof(ucontext_t); }

// Is it the code that a signal handler returns to? On aarch64 libgcc's unwinder knows these instructions even without
// call-frame information (an emulator brings its own, without). But it may then look for the interrupted frame in the
// wrong place and read anywhere. So a walk of a stack stops here.
inline bool ends_handler([[maybe_unused]] std::uintptr_t pc) noexcept {
#if defined(__aarch64__)
  constexpr std::uint32_t kReturn = 0xd2801168, kCall = 0xd4000001;  // mov x8, #139; svc #0
  const auto* code = reinterpret_cast<const std::uint32_t*>(pc);
  return pc != 0 && pc % sizeof kReturn == 0 && code[0] == kReturn && code[1] == kCall;
#else
  return false;
#endif
}

// Did the signal come after another signal's handler had ended, but before it returned to the code it interrupted?
inline bool returns_from_handler([[maybe_unused]] const void* ucontext) noexcept {
#if defined(__aarch64__)
  return ends_handler(static_cast<const ucontext_t*>(ucontext)->uc_mcontext.pc);
#else
  return false;
#endif
}

}  // namespace weft::arch
