// SPDX-License-Identifier: MIT
#pragma once
#include "os/spin_lock.h"
#include "sched/trace_points.h"
#include "sched/waiter.h"

namespace weft::sched {
// Never called: nothing is recorded in a simulation.
inline void wait_traced(Goroutine*, WaitReason, const void*, WaitList&, Waiter&, os::SpinLock&) noexcept {}
}  // namespace weft::sched
