// SPDX-License-Identifier: MIT
#pragma once
#include "sched/observe/dump.h"

// The scheduler's side of a dump: Ps with what waits on them, Ms with their threads and what they run. The names are those of the
// documents' figures and of Go's scheddetail. The world is stopped, or as good as.
namespace weft::sched {

void dump_threads(DumpSink sink, void* context);

}  // namespace weft::sched
