// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"

// Blocking calls.
//   Enter    The P stays wired to the M, but its word (status, M, call number) says "in call". From then on the P
//            belongs to the thread that wins the CAS of that word: the returning M, sysmon, or the stopper of the
//            world.
//   Leave    One CAS takes the P back. If it fails, the P was taken meanwhile (by sysmon after two looks, or by a
//            stopped world). Then the M takes an idle P, or queues the goroutine and sleeps. If some P waits for a
//            thread that cannot be had, the goroutine is queued as well, and this M serves that P.
//   Predict  A goroutine whose last calls were long gives its P away at once; short calls never wake a thread. A call
//            that lost its P makes its goroutine suspected, and its next call is timed. A call of 50 us or more is
//            long, because it pays for waking another thread. Calls that gave their P away are timed as well, so that a
//            wrong prediction ends.
//   Orders   enter: word release -- taker: CAS acquire;  taker: new word release -- leave: CAS acquire (processor.word)
namespace weft::sched {

// On a goroutine with a P. Until leave_call() its thread counts as a plain one: current_p() is null.
void enter_call() noexcept;
// May switch. `unannounced`: the goroutine lost its P in the middle of user code, as an exile or by a lease. If it has
// to wait for a P with a library on its stack, it keeps its thread (thread_kept.h).
void leave_call(bool unannounced = false) noexcept;

// The first half of enter_call(). The preemption signal and leases use it, too. Any thread may take the P from then on.
void leave_processor_in_call(Machine& m, Goroutine* g) noexcept;

// The call that has this word has begun. `is_long`: it is predicted to be long, so its P goes to others at once. If
// not, sysmon takes the P should the call last.
void give_up_predicted_call(Processor& p, std::uint64_t word, bool is_long) noexcept;

// Takes the P away from the call that has this word. True: the caller owns the P, which is wired to no M, and the
// goroutine is counted in Scheduler::in_call.
bool take_from_call(Processor& p, std::uint64_t word) noexcept;

}  // namespace weft::sched
