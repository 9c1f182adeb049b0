// SPDX-License-Identifier: MIT
#pragma once
#include "sched/dispatch.h"

// Nothing is recorded in a simulation.
namespace weft::trace {
inline bool recording() { return false; }
}  // namespace weft::trace

namespace weft::sched {
inline void trace_rename(Goroutine*) {}
}  // namespace weft::sched
