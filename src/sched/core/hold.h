// SPDX-License-Identifier: MIT
#pragma once
#include "sched/model/hold_word.h"

// Holding exiles. An exile (a goroutine that lost its P and computes on, preempt.h) is a plain thread, which can be
// stopped only by signal. The handler of that signal waits, and with it the thread, as long as there is a reason to.
//   Reasons      sysmon, where the exile would use more CPUs than maxprocs (world/exile_shares.h); a stopped world; the
//                exit, for ever.
//   Word         the reasons, and kHeld: the thread is in the handler. A reason is set and cleared by its holder. (The
//                thread itself may do both with kHoldShare: it waits for its turn, or need not wait any more.) kHeld is
//                changed by the thread alone, and only in a CAS that sees the reasons. So a holder that sees kHeld
//                beside its own reason knows that the thread stays until that reason is cleared. (pairs: hold.word)
//   Orders       thread: kHeld by CAS, release  --  holder: load, acquire: what the thread wrote before is seen.
//                holder: reason cleared, release  --  thread: load, acquire: what was done meanwhile is seen by the
//                thread.
//                thread: exiled cleared, release  --  holder: load, acquire: a thread that is back in the runtime need
//                not be held, and what it wrote before is seen as well. (pairs: machine.exiled)
//   Where        only in user code (as exiles are made: nothing of the runtime, no handler on the stack), outside
//                no_preempt regions, and where the thread has no lock that others need: not in the C library, the
//                dynamic linker, an allocator (os/common_lock_code.h). A thread that refuses is asked again. After
//                kPatience refusals, and in a system call, it is enough that no function on the stack is known to lock.
//                No stack walk leads through the unwinder. After kPatience refusals a thread is held there, too, if the
//                unwinder finds frames without a lock.
//   Locks        of the user's own stay locked. Code that runs while the world is stopped must not want a lock that
//                goroutines use; goroutines that stopped at a check may hold one as well. An exile that is held because
//                of maxprocs has its turn again.
//   Not held     goroutines in weft::blocking: they do without a P by their own wish, and come back to a P or not at
//                all.
//   Rejected     SIGSTOP (stops the process). The freezer (needs rights). Queueing the goroutine for a P with its
//                thread, as injected ones are: it would need a P to let go of a lock that the P's user waits for in a
//                no_preempt region.
namespace weft::sched {

struct Machine;

// --- the thread itself, in the handler ---
// Returns when no reason is left. `context`: of the handler.
void stay_while_held(Machine& m, const void* context) noexcept;
// The same, for a reason of the thread's own: it waits until sysmon gives it a turn.
void stay_until_its_turn(Machine& m, const void* context) noexcept;

// The thread cannot be held here, and says why. True: a stopped world or the exit waits for it, and the thread has to
// signal itself again, because on a busy machine no other thread would do so while this one has a CPU.
bool refuse_to_stay(Machine& m, Refusal reason) noexcept;
// The thread is about to be back in the runtime: from here on no holder waits for it.
void no_longer_exiled(Machine& m) noexcept;
// The thread is back in the runtime, where it need not be held: drops kHoldShare, and the timer that signals it.
void end_hold(Machine& m) noexcept;

// --- others ---
// With machines_lock. Sets the reason. Signals m, unless it is held or the last signal is less than `again_ns` old.
// True: m is held.
bool ask_to_hold(Machine& m, HoldReason reason, std::int64_t now, std::int64_t again_ns) noexcept;
// Clears the reason. m goes on if no other is left.
void let_go(Machine& m, HoldReason reason) noexcept;

// For a stopped world (no P is in use, so no goroutine becomes an exile meanwhile) and the exit. Returns when every
// exile but the caller is held or has refused for long, or at the deadline. False: at the deadline.
bool hold_exiles(HoldReason reason, std::int64_t deadline_ns) noexcept;
void let_exiles_go(HoldReason reason) noexcept;
// Signals once more the exiles that a stopped world or the exit wants and that are not held yet. False: there are none.
bool remind_exiles(std::int64_t now) noexcept;

}  // namespace weft::sched
