// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"
#include "sched/timer/timer_heap.h"

// Work that becomes runnable: where it goes, who is woken for it, and what the global queue gives back.
namespace weft::sched {

void ready(Goroutine* g) noexcept;  // any thread; g is waiting
// As ready(), for many at once: the caller places what `out` gets.
void collect(Goroutine* g, RunnableList& out) noexcept;
// Owner of p: sleepers whose time has come go to the back of its queue, in the order of their times; a single one that is known to run
// briefly goes first (a ticker beside goroutines that compute would be late by the time slices of all of them). True: others need not be woken for them, for all
// together will run briefly, as far as is known (a wake costs more than they do).
bool place_sleepers(Processor& p, const DueSleepers& sleepers) noexcept;
void submit(Runnable record) noexcept;    // any thread; a filled spawn record
void inject(Runnable runnable) noexcept;  // any thread: to the global queue, and wakes whoever is needed
void inject(RunnableList& chain) noexcept;
void inject_sleepers(const DueSleepers& sleepers) noexcept;  // the same, for goroutines whose sleep is over

// Work has been put where p's thieves find it: wake whoever rule R says.
void wake_for_queued_work(Processor* p) noexcept;

// From the global queue: the oldest, to run now.
Runnable take_one_injected(Processor& p) noexcept;
// A batch of it: one to run, the rest to p's queue (B01). For a P that has nothing else.
Runnable take_injected(Processor& p) noexcept;

}  // namespace weft::sched
