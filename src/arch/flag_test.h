// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"
#include "base/check.h"

// Tests a flag that is nearly always zero: one comparison with memory and one branch that is not taken. With an atomic
// load, compilers need three instructions and a register. Gives no memory order: a caller that needs one loads the flag
// again behind the branch.
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
