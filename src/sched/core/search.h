// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"

// An M without work: where it looks, how long it spins, when it gives its P up.
//   Order       own queue, global queue, network (without blocking), steal; then spin (the same, again), idle-priority goroutines, sleep as the passive
//               spinner, retire. K1: with WEFT_DEBUG=search_order=seed global queue and network come after stealing, as the documents have it.
//   Spinning    active for spin_us; then *passive*: the M keeps P and spinner count but sleeps with a timer, 50 us doubling to
//               passive_limit_ns, and at each look takes what has not moved since the last one. Only one M is passive.
//   Judgement   a thief that is idle again within productive_us of a steal, not counting the time in barriers (what it stole was waiting for a lock
//               that was another M's own), was not worth it; from the second in a row it skips
//               active spinning and sleeps suppressed: woken only for a backlog worth a wake. It still looks around, but takes only what is
//               worth it or has not moved, and each time for twice as long, until a steal was worth it: three goroutines that chat on one P would
//               lose some per cent of their speed to a thief that tries again every 50 us.
//   Retiring    P to the idle list and out of the spinners in one CAS; full fence; look at everything once more.
//               (Pairs with publish; full fence; look at the idle word, in wake_for_queued_work.) Without that second look a
//               wake-up can be lost: tests/model has the mutant.
//   Apart       A P that has retreated (retreat.h), or a suppressed M, may retire beside work if a spinner is left. That
//               spinner wakes another M when it leaves with work, and the last spinner to retire looks again. The idle
//               word counts spinners and idle Ps together, so two Ms that retire at once cannot rely on each other.
namespace weft::sched {

// The M has no P: sleeps until it is given one. False: the thread is to end.
bool wait_for_processor(Machine& m) noexcept;

// The M looks for work with its P; without any it gives the P up and sleeps. None: the thread is to end.
Runnable find_runnable(Machine& m) noexcept;

}  // namespace weft::sched
