// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "trace/emit.h"

// Numbers of the texts that each generation's table begins with.
namespace weft::trace {

inline constexpr std::uint32_t kLostEventsString = 1;
inline constexpr const char* kLostEventsText = "weft: events lost";

constexpr std::uint32_t reason_string(Reason reason) noexcept { return 2u + reason; }

}  // namespace weft::trace
