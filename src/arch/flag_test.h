// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"
#include "base/check.h"

// Asks a flag that is nearly always zero: one comparison with memory and one branch that is not taken. Of an atomic load compilers make
// three instructions and a register. No order: whoever needs one asks again behind the branch.
namespace weft::arch {

#if defined(__x86_64__)
inline bool is_set(const base::Atom<std::uint32_t>& flag) noexcept {
  static_assert(sizeof flag == sizeof(std::uint32_t));
  asm goto("cmpl $0, %0\n\tjne %l[set]" : : "m"(flag) : "cc" : set);
  return false;
#if defined(__clang__)
set:  // clang takes such a label to be unlikely
#else
[[unlikely]] set:
#endif
  return true;
}
#else
inline bool is_set(const base::Atom<std::uint32_t>& flag) noexcept { return WEFT_UNLIKELY(flag.load_relaxed() != 0); }
#endif

}  // namespace weft::arch
