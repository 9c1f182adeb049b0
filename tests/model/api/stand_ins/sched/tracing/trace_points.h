// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "arch/cold_call.h"
#include "sched/core/dispatch.h"

// Nothing is recorded in a simulation.
namespace weft::trace {
inline bool recording() { return false; }
}  // namespace weft::trace

namespace weft::sched {
inline void trace_rename(std::uintptr_t, std::uintptr_t) noexcept {}
}  // namespace weft::sched
