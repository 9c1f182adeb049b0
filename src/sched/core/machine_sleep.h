// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/queue/runnable.h"

// How an M sleeps that has nothing to run: on its note, or in the netpoller.
namespace weft::sched {

struct Machine;
struct TimerWake;

// Wakers may place the M meanwhile, and only then. With `ready` it watches the descriptors too, if nobody does. True: somebody woke it on purpose.
bool wait_for_bell(Machine& m, std::int64_t deadline_ns, RunnableList* ready) noexcept;
// The same, until a timer is due: asks for a little earlier, and waits for the rest awake. Who rings then is heard at the next wait.
bool wait_for_timer(Machine& m, const TimerWake& timers, RunnableList* ready) noexcept;
// For that, by a thread that lives as long as the process, and gets the timers' signals (os/early_timer.h).
void open_early_timers() noexcept;

}  // namespace weft::sched
