// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"

// An M without work: where it looks, how long it spins, when it gives its P up.
//   Order       Own queue, global queue, network (without blocking), steal. Then spin (global queue and stealing, again
//               and again), idle-priority goroutines, sleep as the passive spinner, retire. K1 (the documents' search
//               order): with WEFT_DEBUG=search_order=seed global queue and network come after stealing.
//   Spinning    Active for spin_us. Then *passive*: the M keeps its P and counts as a spinner, but sleeps with a timer,
//               50 us doubling to passive_limit_ns. At each look it takes what has not moved since the look before.
//               Only one M is passive.
//   Judgement   A steal was not worth it if the thief is idle again within productive_us, not counting its time in
//               barriers (what it stole was waiting for a lock that was biased to another M). From the second such
//               steal in a row on, the thief skips active spinning and sleeps suppressed: it is woken only for a
//               backlog worth a wake. It still looks around, but takes only what is worth it or has not moved. Each
//               suppression is twice as long as the one before, until a steal was worth it. Without that, three
//               goroutines that chat on one P would lose some per cent of their speed to a thief that tries again every
//               50 us.
//   Retiring    The P goes to the idle list and the M leaves the spinners in one CAS; full fence; look at everything
//               once more. (Pairs with publish; full fence; look at the idle word, in wake_for_queued_work.) Without
//               that second look a wake-up can be lost: tests/model has the mutant.
//   Apart       A P that has retreated (retreat.h), or a suppressed M, may retire beside work if a spinner is left.
//               That spinner wakes another M when it leaves with work, and the last spinner to retire looks again. The
//               idle word counts spinners and idle Ps together, so two Ms that retire at once cannot rely on each
//               other.
namespace weft::sched {

// The M has no P. Sleeps until it is given one, or takes an idle one for due timers or ready descriptors. False: the
// thread is to end.
bool wait_for_processor(Machine& m) noexcept;

// The M looks for work with its P. Without any it gives the P up and sleeps. None: the thread is to end.
Runnable find_runnable(Machine& m) noexcept;

}  // namespace weft::sched
