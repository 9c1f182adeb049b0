// SPDX-License-Identifier: MIT
#pragma once
#include "sched/bias/channel_lock.h"
#include "sched/tracing/trace_points.h"
#include "sched/wait/waiter.h"

namespace weft::sched {
// Never called: nothing is recorded in a simulation.
inline void wait_traced(Goroutine*, WaitReason, const void*, WaitList&, Waiter&, ChannelLock&) noexcept {}
}  // namespace weft::sched
