// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"
#include "sched/timer/timer_heap.h"

// Work that becomes runnable: where it goes, which M is woken for it, and what the global queue gives back.
namespace weft::sched {

void ready(Goroutine* g) noexcept;  // any thread; g is waiting
// As ready(), for many at once: g goes to `out`, and the caller places that list. (A goroutine of idle priority is
// placed here.)
void collect(Goroutine* g, RunnableList& out) noexcept;
// Owner of p. Sleepers whose time has come go to the back of its queue, in the order of their times. A single one that
// is known to run briefly goes first: behind goroutines that compute, a ticker would be late by the time slices of all
// of them.
// True: no other M need be woken. All of them together are expected to run briefly, and a wake costs more than they do.
bool place_sleepers(Processor& p, const DueSleepers& sleepers) noexcept;
void submit(Runnable record) noexcept;    // any thread; a filled spawn record
void inject(Runnable runnable) noexcept;  // any thread: to the global queue; wakes an M if rule R says so
void inject(RunnableList& chain) noexcept;
void inject_sleepers(const DueSleepers& sleepers) noexcept;  // the same, for goroutines whose sleep is over

// Work has been published where p's thieves find it: wakes an M if rule R says so. Null p: the caller has no P.
void wake_for_queued_work(Processor* p) noexcept;
// The same after a full fence behind the publication.
void wake_beside_idle(Processor* p, IdleView view) noexcept;
inline void wake_after_fence(Processor* p) noexcept {
  if (const IdleView view = scheduler.idle.look(); WEFT_UNLIKELY(!view.quiet())) wake_beside_idle(p, view);
}

// Owner of p. Takes the oldest entry of the global queue, to run now.
Runnable take_one_injected(Processor& p) noexcept;
// Owner of p, which has nothing else to run. Takes a batch (B01: moves between queues are batched): returns one to run
// and puts the rest into p's queue.
Runnable take_injected(Processor& p) noexcept;

}  // namespace weft::sched
