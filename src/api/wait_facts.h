// SPDX-License-Identifier: MIT
#pragma once
#include "sched/observe/wait_graph.h"
#include "sched/observe/wake_source.h"

namespace weft::api {

// What a parked goroutine waits for, by the state of the primitive. The reporting thread reads it without waiting for
// the primitive's lock.
void tell_wait(const sched::Goroutine* g, sched::WaitFacts& facts);

// For the hook of the same name: the channel through which another goroutine has woken g.
const void* tell_meeting(const sched::Goroutine* g, char* name, std::size_t size) noexcept;

// What could end the wait. False: nothing is known of it. Neither allocates nor locks.
bool tell_wakers(const sched::Goroutine* g, void (*visit)(void* context, const sched::WakeSource& waker), void* context);

}  // namespace weft::api
