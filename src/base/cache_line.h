// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

namespace weft::base {

// Fixed rather than std::hardware_destructive_interference_size: that one changes with -mtune, and layouts must not.
inline constexpr std::size_t kCacheLine = 64;

}  // namespace weft::base
