// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"

// An M without work: where it looks, and in which order.
//   Order       Own queue, global queue, network (without blocking), steal. Then spin (global queue and stealing, again
//               and again), idle-priority goroutines, sleep as the passive spinner (passive_watch.h), retire
//               (idle_machine.h). K1 (the documents' search order): with WEFT_DEBUG=search_order=seed global queue and
//               network come after stealing.
//   Judgement   Rule R4 (rule/thief_record.h) says whether the M may steal and spin, by what its last steals brought.
namespace weft::sched {

// The M looks for work with its P. Without any it gives the P up and sleeps. None: the thread is to end.
Runnable find_runnable(Machine& m) noexcept;

}  // namespace weft::sched
