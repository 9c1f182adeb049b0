// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/state/scheduler.h"
#include "sched/tracing/trace_points.h"

// Park, yield, end: how a goroutine leaves its P, and the switch under that. How it becomes runnable: arrivals.h.
//   Switching   goes directly from goroutine to goroutine; g0 (the thread's own stack) only when the P has nothing, when
//               somebody wants the P's attention, or when a locked goroutine is involved.
//   Parking     begin_wait(); publish yourself where the waker finds you; drop locks; park(). A ready() that comes before the
//               switch is finished waits for sp (goroutine.h), so nothing is lost and no hook is needed.
//   May switch  park, yield, end: after them M and P are other ones; read them again.
namespace weft::sched {

// Fatal: whoever wants that lock would wait for one that waits for a P.
[[noreturn]] void refuse_to_wait_with_lock() noexcept;
inline void check_no_lock_held(const Goroutine* g) noexcept {
  if (WEFT_UNLIKELY(g->no_preempt >= kLockHeld)) refuse_to_wait_with_lock();
}

// What reports say of a goroutine that waits.
inline void prepare_wait(Goroutine* g, WaitReason reason, const void* object) noexcept {
  check_no_lock_held(g);
  g->wait_reason = reason;
  g->wait_object = object;
  g->wait_since_ms = scheduler.coarse_ms.load_relaxed();  // a clock for people
}
// The caller's goroutine, about to be published to a waker. (_untraced: goroutine.h)
inline void begin_wait_untraced(Goroutine* g, WaitReason reason, const void* object) noexcept {
  prepare_wait(g, reason, object);
  transition_untraced(g, GStatus::kRunning, GStatus::kWaiting);
}
inline void begin_wait(Goroutine* g, WaitReason reason, const void* object) noexcept {
  prepare_wait(g, reason, object);
  transition(g, GStatus::kRunning, GStatus::kWaiting);
}
// It turned out that there is nothing to wait for, and nobody has been told.
inline void call_off_wait(Goroutine* g) noexcept { transition(g, GStatus::kWaiting, GStatus::kRunning); }

void park() noexcept;   // may switch
// May switch. The rest of park(), with what the slot held, or nothing.
__attribute__((noinline)) void park_slowly(Runnable next) noexcept;
void yield() noexcept;  // may switch
// Preempted: behind everybody else, whichever P they wait for. The local queue would find the goroutine first again, before
// what timers and threads have put into the global one.
void give_way() noexcept;

// Ends the current goroutine; its frames have been unwound or are given up.
[[noreturn]] void end_goroutine() noexcept;

// g0 runs this goroutine or record until something switches back to g0.
void execute_on_system_stack(Machine& m, Runnable runnable) noexcept;

// Leaves the current goroutine, which has been published, for g0.
void switch_to_system_stack(Goroutine* g) noexcept;  // may switch

}  // namespace weft::sched
