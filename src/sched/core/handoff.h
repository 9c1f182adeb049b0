// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"

// Blocking calls.
//   Enter    the P stays wired to the M, marked "in call" in its word (status, M, call number); from then on it belongs to
//            whoever wins the exchange of that word.
//   Leave    one CAS takes it back. Somebody was faster (sysmon after two looks, or a stopped world): take an idle P, or queue
//            the goroutine and sleep. If a P waits for a thread that cannot be had, queue it too, and serve that P.
//   Predict  A goroutine whose last calls were long gives its P away at once; short calls never wake a thread. A call that
//            lost its P makes its goroutine suspected, and the next call is timed. A call of 50 us or more is long: it pays
//            for waking another thread. Calls that gave their P away are timed, too, so that a wrong prediction ends.
//   Orders   enter: word release  -- taker: CAS acquire;  taker: new word release -- leave: CAS acquire   (processor.word)
namespace weft::sched {

// On a goroutine with a P. Until leave_call() the thread counts as a plain one: current_p() is null.
void enter_call() noexcept;
// May switch. `unannounced`: the goroutine lost its P in the middle of user code. If it has to wait for a P with a
// library on its stack, it keeps its thread (thread_kept.h).
void leave_call(bool unannounced = false) noexcept;

// The first half of enter_call(), and what a signal does to a goroutine that does not give way: the P is up for grabs.
void leave_processor_in_call(Machine& m, Goroutine* g) noexcept;

// The call that has this word is predicted to be long, or not: the P goes to others at once, or when sysmon looks.
void give_up_predicted_call(Processor& p, std::uint64_t word, bool is_long) noexcept;

// Takes the P away from the call that has this word. True: the caller owns it, unwired; the goroutine is counted as in_call.
bool take_from_call(Processor& p, std::uint64_t word) noexcept;

}  // namespace weft::sched
