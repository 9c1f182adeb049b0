// SPDX-License-Identifier: MIT
#pragma once
#include "sched/bias/channel_lock.h"
#include "sched/wait/waiter.h"
#include "trace/emit.h"

namespace weft::sched {

// begin_wait(), the push on the list, the unlock and park() in one, for the time while something is recorded: who leaves, and who starts in
// its place, are told to the tracer together. May switch.
void wait_traced(Goroutine* g, WaitReason reason, const void* object, WaitList& list, Waiter& waiter,
                 ChannelLock& lock) noexcept;

}  // namespace weft::sched
