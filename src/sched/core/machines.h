// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"

// Threads: starting and waking them, and giving them Ps.
//   Throttle   Up to k * maxprocs Ms are started promptly, beyond that one per interval (A55: limited thread creation),
//              and never more than max_threads. An M that waits for the goroutine locked to it does not count for the
//              first bound. A P that gets no thread stays idle, and sysmon tries again: work waits, nothing fails.
//   Pairing    A P prefers the M it last ran with (A54: same M again).
namespace weft::sched {

// Before the first thread: what each of them runs, with its Machine.
void set_thread_entry(void (*entry)(void*)) noexcept;

// Rule R: makes one idle P spin, unless an M spins already. `p`: whose counters count it; may be null.
void wake_one(Processor* p) noexcept;
// Wakes the passive spinner (it sleeps with a timer), if there is one.
void wake_passive(Processor* p) noexcept;

// What the waking thread does next, which decides where the woken thread should run.
//   kGoesOn       The waker needs its CPU: the woken thread is put on another one, unless the waker's goroutine is
//                 known for calls that block.
//   kBlocks       The waker is about to block: the woken thread is brought to its CPU. Left to the kernel, it would
//                 often wait on another CPU behind a thread that computes, while this one is idle. pass_processor()
//                 asks for this only if all CPUs are in use.
//   kIndifferent  The kernel chooses.
enum class Waker : std::uint8_t { kGoesOn, kBlocks, kIndifferent };
// Gives p, which the caller owns and no M is wired to, to an M. False: no thread can be had; p is idle then, and sysmon
// will try again.
bool start_machine(Processor& p, bool spinning, Runnable handed = Runnable(), Waker waker = Waker::kGoesOn) noexcept;

// Rings m, whatever it sleeps in. It will look at its next_p, or at the timers.
void signal_machine(Machine& m) noexcept;
// Rings the Ms that were given a P and have not taken it yet: the thread that chose one may be kept from ringing it.
void ring_chosen_machines() noexcept;

// The calling M takes p, which it was given through Machine::next_p, perhaps with something to run.
void accept_processor(Machine& m, Processor& p) noexcept;
// Wires p to the calling M.
void acquire_processor(Machine& m, Processor& p) noexcept;
// Unwires m's P and returns it. The caller still owns it.
Processor& release_processor(Machine& m) noexcept;
// p is wired to no M. It goes to another M if there is work for it, or timers or descriptors to watch; otherwise it
// becomes idle (A21: blocking calls; A41: locked goroutines).
void pass_processor(Processor& p, Waker waker) noexcept;
// p becomes idle. If work has turned up in between, an M is woken for it.
void make_idle(Processor& p) noexcept;

// Called by sysmon at each look. Starts a thread for an idle P that could not get one, if there is work for it; the
// interval between new threads does not hold here.
void retry_wanted_thread() noexcept;

// With the machines lock held.
void add_idle_machine_locked(Machine& m) noexcept;
void remove_idle_machine_locked(Machine& m) noexcept;

}  // namespace weft::sched
