// SPDX-License-Identifier: MIT
#pragma once
#include "sched/bias/channel_lock.h"
#include "sched/wait/waiter.h"
#include "trace/emit.h"

namespace weft::sched {

// begin_wait(), the push on the list, the unlock and park() in one call, for use while a trace is recorded. The tracer
// is told in one step that g blocks and that its successor starts. May switch.
void wait_traced(Goroutine* g, WaitReason reason, const void* object, WaitList& list, Waiter& waiter,
                 ChannelLock& lock) noexcept;

}  // namespace weft::sched
