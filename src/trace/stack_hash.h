// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>

namespace weft::trace {

// Different stacks have different hashes, as far as 64 bits go; the table relies on it.
inline std::uint64_t stack_hash(std::span<void* const> pcs) noexcept {
  std::uint64_t hash = pcs.size();
  for (void* pc : pcs) {
    hash = (hash ^ reinterpret_cast<std::uintptr_t>(pc)) * 0x9e37'79b9'7f4a'7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace weft::trace
