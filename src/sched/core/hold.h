// SPDX-License-Identifier: MIT
#pragma once
#include "sched/model/hold_word.h"

// Holding exiles: a goroutine that lost its P and computes on (preempt.h) is a plain thread, which nobody can ask to
// stop but by signal. The handler of that signal waits, and with it the thread, for as long as anybody wants so.
//   Who wants    sysmon, where the exile would use more CPUs than maxprocs (sched/exile/exile_shares.h); a stopped world;
//                the exit, for ever.
//   Word         the reasons, and kHeld: the thread is in the handler. Reasons are set and cleared by those who have
//                them, kHeld by the thread alone, and only in a CAS that sees the reasons: so who sees kHeld beside a
//                reason of its own knows that the thread stays until that reason goes. (pairs: hold.word)
//   Orders       thread: kHeld by CAS, release  --  holder: load, acquire: what the thread wrote before is seen.
//                holder: reason cleared, release  --  thread: load, acquire: what was done meanwhile is seen by the
//                thread.
//                thread: exiled cleared, release  --  holder: load, acquire: who need not be held, since it is back
//                in the runtime, has been seen as well. (pairs: machine.exiled)
//   Where        only in user code (as exiles are made: nothing of the runtime, no handler on the stack), outside
//                no_preempt regions, and where nobody else needs a lock that the thread may have: not in the C
//                library, the dynamic linker, an allocator (os/common_lock_code.h). A thread that refuses is asked
//                again; after kPatience refusals, and in a system call, it is enough that no function on the stack is
//                known to lock. So long in the unwinder, through which no walk leads, is enough as well where that
//                looks for frames without a lock.
//   Locks        of the user's own stay locked: whoever runs while the world is stopped must not want one that
//                goroutines lock, as it must not with goroutines that stopped at a check. Those held for maxprocs'
//                sake have their turn again.
//   Not held     goroutines in weft::blocking: they are outside by their own wish, and come back to a P or not at all.
//   Rejected     SIGSTOP (stops the process), the freezer (needs rights), queueing the goroutine for a P with its
//                thread, as injected ones are: it would need a P to let go of a lock that the P's user waits for in a
//                no_preempt region.
namespace weft::sched {

struct Machine;

// --- the thread itself, in the handler ---
// Until nobody wants it any more. `context`: of the handler.
void stay_while_held(Machine& m, const void* context) noexcept;
// The same, at its own wish until sysmon gives it a turn.
void stay_until_its_turn(Machine& m, const void* context) noexcept;

// Not here, for this reason. True: a stopped world or the exit waits for it, and the thread has to ask itself again: on a
// busy machine nobody else would do so while it has a CPU.
bool refuse_to_stay(Machine& m, Refusal reason) noexcept;
// It is about to be back in the runtime: from here on nobody who holds exiles waits for it.
void no_longer_exiled(Machine& m) noexcept;
// It is back in the runtime, where it need not be held.
void end_hold(Machine& m) noexcept;

// --- others ---
// With machines_lock: m is wanted for this reason, and signalled if it is not held and the last signal was `again_ns`
// ago. True: it is held.
bool ask_to_hold(Machine& m, HoldReason reason, std::int64_t now, std::int64_t again_ns) noexcept;
void let_go(Machine& m, HoldReason reason) noexcept;

// For a stopped world (no P in use, so nobody becomes an exile meanwhile) and the exit: every exile but the caller is
// held when this returns, or the deadline is over, or it has refused for long. False: not all.
bool hold_exiles(HoldReason reason, std::int64_t deadline_ns) noexcept;
void let_exiles_go(HoldReason reason) noexcept;
// Those that are wanted by a stopped world or the exit and are not held yet are signalled once more. False: there are
// none.
bool remind_exiles(std::int64_t now) noexcept;

}  // namespace weft::sched
