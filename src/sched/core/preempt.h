// SPDX-License-Identifier: MIT
#pragma once
#include "arch/stack_guard.h"
#include "sched/state/scheduler.h"

// Preemption: how a goroutine that does not call the runtime gives way.
//   Mark     Sysmon (time slice over) or a stopping world sets the P's attention. Then it asks the M that runs the P:
//            it stores kGiveWay as that thread's stack guard, so that the next compiled-in check (function entry, loop
//            back-edge) calls at_check(), and sets the flag of preempt_point(). The true guard is not lost, because it
//            can be computed from the G.
//   Vetoes   at_check() does nothing
//            - while the thread has no goroutine (g0);
//            - in signal handlers, on another stack or found on this one (foreign_frames.h);
//            - in functions that the runtime has called;
//            - in a call, without a P (an exile has no P either, but comes back at the check);
//            - while the goroutine's no_preempt count is not zero: in user regions, in the runtime's own (where it
//              calls user code with a lock held), and in a goroutine that has stopped the world.
//            Spawning and waking are code of the runtime, which has no checks. A vetoed request stays on the P. It is
//            armed again when the veto ends, or made again.
//   Exile    Code without checks is interrupted by a signal, whose handler walks the stack. If it finds nothing of the
//            runtime and no handler of another signal there, the goroutine becomes what a blocking call makes of it
//            (handoff.h): the P's word says "in call", sysmon takes the P and gives it to another M, and the goroutine
//            computes on as a plain thread. Its next call of the runtime (regain_processor) is its return.
//   Held     An exile counts against maxprocs, and stands still while the world does: it can be kept in the handler
//            (hold.h).
//   Inject   In a weft::preemptible scope the handler stops the goroutine itself, in the middle of its code
//            (arch/inject.h). It does so only if every frame from the scope inwards is code of the scope's own module,
//            so that no lock of the C library is held. The same thread resumes the goroutine, so what the compiler
//            keeps of the thread (errno, thread_locals) stays true.
//   Thread   A goroutine that is preempted at a check, or comes back from exile, inside a callback from a library keeps
//            its thread, too (foreign_frames.h).
//   Why so   Only code of the runtime uses a P, between two instructions of user code. Asking the stack whether such
//            code is running is exact, and costs nothing on the hot paths. Rejected: a counter kept by each entry of
//            the runtime, which would cost each operation two stores.
namespace weft::sched {

// The guard of a goroutine's stack. Only code without checks (libc, and the runtime at a check) may go below it.
inline std::uintptr_t true_guard(const Goroutine* g) noexcept {
  const std::size_t room = g->stack_bytes, slack = room / 4 < kGuardSlack ? room / 4 : kGuardSlack;
  return reinterpret_cast<std::uintptr_t>(g->stack_bottom) + slack;
}
// What the switch writes as guard. For a default stack it is computed without touching the second cache line of the G.
// With WEFT_DEBUG=preempt it is so high that every check fires.
inline std::uintptr_t guard_of(const Goroutine* g) noexcept {
  if (WEFT_UNLIKELY((g->flags & kGOwnStack) != 0) && !settings.preempt_always) return true_guard(g);
  return reinterpret_cast<std::uintptr_t>(g) - scheduler.guard_distance;
}

// Any thread. True: p runs a goroutine, not a search for one.
bool runs_goroutine(const Processor& p) noexcept;
// Any thread. The P's attention has been set: asks the M that runs p to look at it, at its next check.
void ask_to_give_way(Processor& p) noexcept;
// Any thread. Sets the attention, and asks.
void request_preemption(Processor& p) noexcept;
// Asks the M that runs p, by signal, whether it sleeps in a system call; if so, its goroutine becomes an exile. Needs
// no attention. False: as below.
bool probe_by_signal(Processor& p) noexcept;
// Asks the M that runs p, by signal, to give way. False: there are too many exiles already, no M runs p, or the signal
// cannot be sent.
bool ask_by_signal(Processor& p) noexcept;
// CPU time of the thread that runs p; -1: no thread does, or its time is not known.
std::int64_t cpu_time_of_machine(const Processor& p) noexcept;

// The handler of that signal, on the interrupted thread. May keep the thread (hold.h).
void on_preempt_signal(void* ucontext) noexcept;
// Any thread. Asks for a loan to sysmon: the M that runs p lets it lie idle, from its next scheduling point on, while
// an exile computes.
void ask_for_loan(Processor& p) noexcept;

// From now on other threads may set this thread's guard and flag; from withdraw_offer() on, not any more.
void offer_to_be_asked(Machine& m, volatile std::uint32_t* flag) noexcept;
void withdraw_offer(Machine& m) noexcept;

// Counts one exile more. Called by the thread that becomes one. False: there are as many as there may be.
bool count_exile() noexcept;
// May switch. An exile comes back: it has a P again, perhaps on another thread. Null: this is no exile.
Processor* return_from_exile() noexcept;
// An exile announces a call: from now on it is a goroutine in a call, whose P others may have taken already. It is not
// held then, because its return needs a P. False: this is no exile.
bool exile_enters_call() noexcept;
// May switch. The current P, for code that a goroutine calls; an exile gets a P first. Null: a plain thread, or a
// goroutine in a call.
inline Processor* regain_processor() noexcept {
  Processor* p = os::current_p();
  return WEFT_LIKELY(p != nullptr) ? p : return_from_exile();
}

// A region of user code that others wait for: it is not preempted. With kLockHeld one of the runtime's locks is held,
// so the code must not wait either (dispatch.h).
class NonPreemptible {
 public:
  explicit NonPreemptible(std::uint32_t depth = 1) noexcept : g_(os::current_g()), depth_(depth) {
    if (g_ != nullptr) g_->no_preempt += depth_;
  }
  ~NonPreemptible() {
    if (g_ != nullptr && (g_->no_preempt -= depth_) == 0) arm_again();
  }
  NonPreemptible(const NonPreemptible&) = delete;

 private:
  Goroutine* g_;
  std::uint32_t depth_;
  static void arm_again() noexcept;
  friend void allow_preemption() noexcept;
};
// The same without a scope; the goroutine may park in between. forbid_preemption() may switch: an exile gets a P first.
void forbid_preemption() noexcept;
void allow_preemption() noexcept;

}  // namespace weft::sched
