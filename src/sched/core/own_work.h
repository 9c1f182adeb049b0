// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"

// Work for the M's own P that needs no stealing: its queues and inbox, timers, the network, idle-priority goroutines.
namespace weft::sched {

// All of them: the owner of p.

// Takes from what p has, and what other Ps have given to it (retreat.h).
Runnable take_own(Processor& p) noexcept;
Runnable take_idle_priority(Processor& p) noexcept;

// Runs due timers of all Ps, which make goroutines runnable on p. True: p has nothing but sleepers that will run
// briefly (rule R7).
bool run_due_timers(Processor& p) noexcept;

// Looks at descriptors. True: goroutines that became runnable are in p's queue. Another M is woken if there is more
// than one.
bool poll_network(Processor& p) noexcept;
// Queues what is ready on p, in the order in which the kernel reported it. False: nothing is.
bool take_over(Processor& p, RunnableList& ready) noexcept;

}  // namespace weft::sched
