// SPDX-License-Identifier: MIT
#pragma once
#include "sched/observe/wait_graph.h"

namespace weft::api {

// What a parked goroutine waits for, by the state of the primitive. The reporting thread reads it without waiting for
// the primitive's lock.
void tell_wait(const sched::Goroutine* g, sched::WaitFacts& facts);

}  // namespace weft::api
