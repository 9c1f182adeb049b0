// SPDX-License-Identifier: MIT
#pragma once
#include "profile/pprof.h"
#include "sched/model/goroutine.h"

// What goroutines and threads are doing at one moment. The caller has stopped the world.
namespace weft::profile {

// All goroutines, also those that have not started yet.
Profile goroutine_profile();
// The threads of the process. An M has the stack of the goroutine that it runs.
Profile thread_profile();

// Goroutines that wait at this moment, and how long they have waited so far, by their stacks. Sleepers do not count.
Profile block_profile();
// Those that wait for a lock, by the stack of the goroutine that holds it. A holder that is not known, or a plain thread,
// is a frame with that name.
Profile mutex_profile();

// A goroutine's stack, and what profiles say of it: name, spawn site, its own labels.
enum class Walk {
  kExact,  // by the unwind tables
  kFast,   // by frame pointers: a tenth of the time; code compiled without them ends the stack
};
std::vector<void*> stack_of(sched::Goroutine* g, Walk how = Walk::kExact);
Labels labels_of(const sched::Goroutine* g);
// "running", "runnable", "in call", or why it waits.
std::string state_of(const sched::Goroutine* g);

}  // namespace weft::profile
