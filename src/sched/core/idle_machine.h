// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"

// An M without a P: how it gives the P up, what it watches while it sleeps, and how it comes back.
//   Retiring    The P goes to the idle list and the M leaves the spinners in one CAS; full fence; look at everything
//               once more. (Pairs with publish; full fence; look at the idle word, in wake_for_queued_work.) Without
//               that second look a wake-up can be lost: tests/model has the mutant.
//   Apart       A P that has retreated (retreat.h), or a suppressed M, may retire beside work if a spinner is left.
//               That spinner wakes another M when it leaves with work, and the last spinner to retire looks again. The
//               idle word counts spinners and idle Ps together, so two Ms that retire at once cannot rely on each
//               other.
//   Poller      One M without a P sleeps until the next timer; one watches descriptors (N1).
namespace weft::sched {

// True: the M has no P any more and is on the idle list. False: it still has one, or has one again, and searches on.
// `apart`: its P keeps apart (state/apart.h).
bool retire(Machine& m, bool apart) noexcept;

// The M has no P. Sleeps until it is given one, or takes an idle one for due timers or ready descriptors. False: the
// thread is to end.
bool wait_for_processor(Machine& m) noexcept;

}  // namespace weft::sched
