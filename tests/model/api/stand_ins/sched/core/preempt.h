// SPDX-License-Identifier: MIT
#pragma once
#include "sched/core/dispatch.h"

namespace weft::sched {
inline constexpr std::uint32_t kLockHeld = 1u << 16;
inline Processor* regain_processor() { return os::current_p(); }
struct NonPreemptible {
  explicit NonPreemptible(std::uint32_t = 1) {}
  ~NonPreemptible() {}
};
}  // namespace weft::sched
