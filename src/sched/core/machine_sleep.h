// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/queue/runnable.h"

// How an M without work sleeps: on its note, or in the netpoller.
namespace weft::sched {

struct Machine;
struct TimerWake;

// Sleeps until a waker rings, or until the deadline. Wakers may place the M on a CPU meanwhile (Placement in
// model/machine.h), and only then. With `ready` the M watches the descriptors too, if no other M does. True: a waker
// rang.
bool wait_for_bell(Machine& m, std::int64_t deadline_ns, RunnableList* ready) noexcept;
// The same, until a timer is due. Asks the kernel for a little earlier, and waits awake for the rest. A ring in that
// rest is heard at the next wait.
bool wait_for_timer(Machine& m, const TimerWake& timers, RunnableList* ready) noexcept;
// Opens the timers that wait_for_timer() sets ahead. Called by a thread that lives as long as the process, because it
// gets the timers' signals (os/early_timer.h).
void open_early_timers() noexcept;

}  // namespace weft::sched
