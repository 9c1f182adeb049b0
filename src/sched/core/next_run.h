// SPDX-License-Identifier: MIT
#pragma once
#include "sched/core/arrivals.h"
#include "sched/state/scheduler.h"

// What a P runs next if its slot does not say so: the policy's choice, with the duties that are the same for every
// policy.
//   Turn     Work in the global queue waits for any P. Each P gives it a turn after kTurnLimit dispatches, or earlier
//            where goroutines run for long: the oldest entry becomes `due`. At the same time work that other Ps have
//            given to this one (inbox) is placed, and the P's average run length is sampled.
//   Slice    Sysmon ends a time slice if slice_tick has not moved. It moves here, so the runs of a grant share one
//            slice.
namespace weft::sched {

// Owner of p. As ask_policy(), with the turn of the global queue.
Pick ask_policy_in_turn(Processor& p) noexcept;

// Owner of p: is it the global queue's turn?
inline bool has_turn(const Processor& p) noexcept {
  return p.tick.load_relaxed() - p.turn_tick >= p.turn_interval;
}

// Owner of p. What the policy runs next there; nothing: it has no work on p. Its calls are tail calls, so that callers
// need no frame for them.
inline Pick ask_policy(Processor& p) noexcept {
  if (WEFT_UNLIKELY(has_turn(p))) return ask_policy_in_turn(p);
  p.slice_tick.bump();
  return policy().next(p, Runnable());
}

// Owner of p. Returns what was picked. Wakes an M, if rule R says so, for the work that next() has moved to where
// thieves take it.
inline Runnable accept(Processor& p, Pick pick) noexcept {
  if (WEFT_UNLIKELY(pick.offered != 0)) wake_for_queued_work(&p);
  return pick.what;
}
inline Runnable next_run(Processor& p) noexcept { return accept(p, ask_policy(p)); }

}  // namespace weft::sched
