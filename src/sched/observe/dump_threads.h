// SPDX-License-Identifier: MIT
#pragma once
#include "sched/observe/dump.h"

// The scheduler's side of a dump: Ps with the work that waits on them, Ms with their threads and what they run. The
// field names are those of the design documents' figures and of Go's scheddetail. The world is stopped, except for Ps
// that did not stop within SIGQUIT's time limit.
namespace weft::sched {

void dump_threads(DumpSink sink, void* context);

}  // namespace weft::sched
