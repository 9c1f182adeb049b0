// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"

// Threads: starting, waking, sleeping, ending.
//   Throttle   up to k * maxprocs Ms are started promptly, beyond that one per interval (A55), never more than max_threads:
//              a P that gets none stays idle and sysmon tries again; work waits, nothing fails.
//   Pairing    a P prefers the M it last ran with (A54).
namespace weft::sched {

// Before the first thread: what each of them runs, with its Machine.
void set_thread_entry(void (*entry)(void*)) noexcept;

// Rule R: makes one idle P spin, unless somebody does already. `p`: for the counters; may be null.
void wake_one(Processor* p) noexcept;
// Wakes the spinner that sleeps with a timer, if there is one.
void wake_passive(Processor* p) noexcept;

// Whether the caller needs its CPU for itself: a woken thread is then put on another one, unless the caller's goroutine
// is known for calls that block. Who is about to block is succeeded on its
// own if all CPUs are in use: left to the kernel, the successor would often wait on another one behind somebody who
// computes, while this one is idle.
enum class Waker : std::uint8_t { kGoesOn, kBlocks, kIndifferent };
// Gives p (owned by the caller, not wired) to an M. False: no thread to be had; p is idle then, and sysmon will try again.
bool start_machine(Processor& p, bool spinning, Runnable handed = Runnable(), Waker waker = Waker::kGoesOn) noexcept;

// The M looks at its next_p, or at the timers, whatever it sleeps in.
void signal_machine(Machine& m) noexcept;
// Those that were given a P and have not taken it yet: who chose them may be kept from ringing.
void ring_chosen_machines() noexcept;

// The calling M has been given p (Machine::next_p), perhaps with something to run.
void accept_processor(Machine& m, Processor& p) noexcept;
// Wires p to the calling M.
void acquire_processor(Machine& m, Processor& p) noexcept;
// Unwires it; the caller owns it still.
Processor& release_processor(Machine& m) noexcept;
// A P nobody is wired to finds its next M, or becomes idle (A21, A41).
void pass_processor(Processor& p, Waker waker) noexcept;
// p becomes idle; wakes somebody if work turned up in between.
void make_idle(Processor& p) noexcept;

// Ms are about to be started beyond the throttle; called by sysmon when the interval is over.
void retry_wanted_thread() noexcept;

// With the machines lock held.
void add_idle_machine_locked(Machine& m) noexcept;
void remove_idle_machine_locked(Machine& m) noexcept;

}  // namespace weft::sched
