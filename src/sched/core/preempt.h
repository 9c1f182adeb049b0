// SPDX-License-Identifier: MIT
#pragma once
#include "arch/stack_guard.h"
#include "sched/state/scheduler.h"

// Preemption: how a goroutine that does not call the runtime gives way.
//   Mark     sysmon (slice over) or a stopping world sets the P's attention, then asks the M that runs it: the stack guard
//            becomes kGiveWay, so that the next compiled-in check (function entry, loop back-edge) calls at_check(); the
//            flag of preempt_point() is set too. The true guard is computed from the G: that is the second copy.
//   Vetoes   at_check() does nothing while the thread has no goroutine (g0), in signal handlers (on another stack, or found on
//            this one: foreign_frames.h), in functions that the runtime has called, where it has no P or is in a call, or the
//            goroutine's no_preempt count is not zero (user regions; the runtime's own, where it calls user code with a lock held; a goroutine that has stopped the
//            world). Spawning and waking are code of the runtime, which has no checks. A vetoed request stays on the P and is
//            armed again when the veto ends, or made again.
//   Exile    code without checks is interrupted by a signal. The handler looks at the stack: with nothing of the runtime on it,
//            and no handler of another signal, the goroutine becomes what a blocking call makes of it (handoff.h): the P's word says "in call", sysmon takes the
//            P and gives it to another M, and the goroutine computes on as a plain thread. Its next call of the runtime
//            (own_processor) is its return.
//   Held     an exile counts against maxprocs, and stands still while the world does: it can be kept in the handler
//            (hold.h).
//   Inject   in a weft::preemptible scope the handler stops the goroutine itself, in the middle of its code (arch/inject.h): if
//            every frame from the scope inwards is code of the scope's own module, so that no lock of the C library is held.
//            It is resumed by the same thread: what the compiler keeps of the thread (errno, thread_locals) stays true.
//   Thread   who is preempted at a check, or comes back from exile, inside a call back from a library keeps its thread, too
//            (foreign_frames.h).
//   Why so   who uses a P is code of the runtime between two instructions of the user. Asking the stack is exact and costs
//            nothing where it counts; a counter kept by each entry of the runtime would cost each operation two stores.
namespace weft::sched {

// The guard of a goroutine's stack: below it only code without checks (libc, and the runtime at a check) may go.
inline std::uintptr_t true_guard(const Goroutine* g) noexcept {
  const std::size_t room = g->stack_bytes, slack = room / 4 < kGuardSlack ? room / 4 : kGuardSlack;
  return reinterpret_cast<std::uintptr_t>(g->stack_bottom) + slack;
}
// What the switch writes: without touching the second line of the G, or always firing (WEFT_DEBUG=preempt).
inline std::uintptr_t guard_of(const Goroutine* g) noexcept {
  if (WEFT_UNLIKELY((g->flags & kGOwnStack) != 0) && !settings.preempt_always) return true_guard(g);
  return reinterpret_cast<std::uintptr_t>(g) - scheduler.guard_distance;
}

// A goroutine, not a search for one.
bool runs_goroutine(const Processor& p) noexcept;
// Any thread. The P's attention is set.
void ask_to_give_way(Processor& p) noexcept;
// Any thread. Sets it, and asks.
void request_preemption(Processor& p) noexcept;
// The M that runs p is asked by signal whether it sleeps in a system call; if so, its goroutine becomes an exile. No attention is needed.
bool probe_by_signal(Processor& p) noexcept;
// The M that runs p is asked by signal; false: there are too many exiles already, or nobody runs it.
bool ask_by_signal(Processor& p) noexcept;
// CPU time of the thread that runs p; -1: nobody, or not to be known.
std::int64_t cpu_time_of_machine(const Processor& p) noexcept;

// The handler of that signal, on the interrupted thread.
void on_preempt_signal(void* ucontext) noexcept;
// Any thread: sysmon gets p to lie idle while an exile computes, at the next scheduling point of the M that runs it.
void ask_for_loan(Processor& p) noexcept;

// This thread's guard and flag may be set from now on; not any more.
void offer_to_be_asked(Machine& m, volatile std::uint32_t* flag) noexcept;
void withdraw_offer(Machine& m) noexcept;

// One exile more, counted by whoever makes it. False: there are as many as there may be.
bool count_exile() noexcept;
// An exile comes back: it has a P again, perhaps on another thread. Null: this is no exile.
Processor* return_from_exile() noexcept;
// An exile announces a call: it is a goroutine in a call from now on, whose P others may have taken already. False: this is
// no exile. Nobody holds it then, because its return needs a P.
bool exile_enters_call() noexcept;
// The current P, for code that a goroutine calls.
inline Processor* regain_processor() noexcept {
  Processor* p = os::current_p();
  return WEFT_LIKELY(p != nullptr) ? p : return_from_exile();
}

// User code that others wait for: not preempted meanwhile. With kLockHeld one of the runtime's locks is held: it must not wait either (dispatch.h).
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
// The same without a scope; the goroutine may park in between.
void forbid_preemption() noexcept;
void allow_preemption() noexcept;

}  // namespace weft::sched
