// SPDX-License-Identifier: MIT
#pragma once
#include "sched/channel_lock.h"
#include "sched/trace_points.h"
#include "sched/waiter.h"

namespace weft::sched {
// Never called: nothing is recorded in a simulation.
inline void wait_traced(Goroutine*, WaitReason, const void*, WaitList&, Waiter&, ChannelLock&) noexcept {}
}  // namespace weft::sched
