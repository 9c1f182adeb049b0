// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/state/scheduler.h"
#include "sched/tracing/trace_points.h"

// How a goroutine leaves its P: park, yield, end, and the switch under them. How it becomes runnable: arrivals.h.
//   Switching   goes directly from goroutine to goroutine. It goes by way of g0 (the thread's own stack) only when the
//               P has nothing to run, when a request to the P is pending (attention), or when the direct way is closed:
//               one of the two goroutines is locked, unguarded or leases its P (kGSlowSwitch), or the next one has not
//               left its thread yet or gets no stack.
//   Parking     begin_wait(); publish yourself where the waker finds you; drop locks; park(). A ready() that comes
//               before the switch is finished is not lost, and no hook is needed: the M that takes the goroutine waits
//               until its sp is stored (goroutine.h).
//   May switch  park, yield, give_way, switch_to_system_stack. After them M and P may be others: read them again.
namespace weft::sched {

// Fatal: a goroutine is about to wait with one of the runtime's locks held. Every M that wants the lock would wait for
// a goroutine that itself waits for a P.
[[noreturn]] void refuse_to_wait_with_lock() noexcept;
inline void check_no_lock_held(const Goroutine* g) noexcept {
  if (WEFT_UNLIKELY(g->no_preempt >= kLockHeld)) refuse_to_wait_with_lock();
}

// Writes down what reports say of a goroutine that waits.
inline void prepare_wait(Goroutine* g, WaitReason reason, const void* object) noexcept {
  check_no_lock_held(g);
  g->wait_reason = reason;
  g->wait_object = object;
  g->wait_since_ms = scheduler.coarse_ms.load_relaxed();  // good enough for reports
}
// g is the caller's goroutine, about to be published to a waker. (_untraced: see transition_untraced() in goroutine.h.)
inline void begin_wait_untraced(Goroutine* g, WaitReason reason, const void* object) noexcept {
  prepare_wait(g, reason, object);
  transition_untraced(g, GStatus::kRunning, GStatus::kWaiting);
}
inline void begin_wait(Goroutine* g, WaitReason reason, const void* object) noexcept {
  prepare_wait(g, reason, object);
  transition(g, GStatus::kRunning, GStatus::kWaiting);
}
// There is nothing to wait for after all, and g has not been published to a waker.
inline void call_off_wait(Goroutine* g) noexcept { transition(g, GStatus::kWaiting, GStatus::kRunning); }

// May switch. The current goroutine's wait has begun. Runs the next goroutine, and returns when this one is resumed.
void park() noexcept;
// May switch. The rest of park(). `next`: what was taken from the slot, or nothing.
__attribute__((noinline)) void park_slowly(Runnable next) noexcept;
// May switch. Lets others run first; returns at once if there is nothing else to run here.
void yield() noexcept;
// May switch. The current goroutine is preempted: it queues behind all others, whichever P they wait for. The local
// queue would not do, because its P would find it there again before the work that timers and plain threads have put
// into the global queue.
void give_way() noexcept;

// Ends the current goroutine; its frames have been unwound or are given up.
[[noreturn]] void end_goroutine() noexcept;

// On g0: runs this goroutine or record until a goroutine switches back to this g0. Then m may have another P, or none.
void execute_on_system_stack(Machine& m, Runnable runnable) noexcept;

// May switch. Leaves the current goroutine, which has been published, for g0. Returns when it is resumed.
void switch_to_system_stack(Goroutine* g) noexcept;

}  // namespace weft::sched
