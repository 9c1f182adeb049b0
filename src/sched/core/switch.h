// SPDX-License-Identifier: MIT
#pragma once
#include "arch/context.h"
#include "base/delay_site.h"
#include "sched/core/preempt.h"
#include "sched/state/scheduler.h"
#include "sched/state/thread_state.h"

// The switch from one goroutine to the next, and the choice of the next one if it is in the slot: parts of park() and
// its traced twin.
namespace weft::sched {

// Takes what is in the slot. As long as the runs last that the policy has granted out of it, the policy need not be
// asked.
inline Runnable pick_slot(Processor& p) noexcept {
  if (p.slot_runs <= kSlotFillsOnly) return Runnable();
  const Runnable slotted = p.slot.take();
  if (WEFT_LIKELY(slotted)) --p.slot_runs;
  return slotted;
}

// True: neither a request to the P nor a timer comes before the slot in this pick.
inline bool slot_is_first(const Processor& p) noexcept {
  return p.attention.load_relaxed() == 0 && p.timers.next_ns() == TimerHeap::kNever;
}

// The last step before the target's context is entered. From here on the thread's guard, errno and exception state are
// the target's. The resuming side restores them, not the resumed side, so that the switch can be a tail call: it
// returns to the caller of the function that made it.
inline void lend_thread_to(Goroutine* target, const Machine& m, bool fresh) noexcept {
  arch::set_stack_guard(guard_of(target));
  os::set_current_g(target);
  if (!fresh) restore_thread_state(target, m);
}
// On the resumed side: only sanitizers have something left to do.
inline void arrive() noexcept {
#if WEFT_ASAN || WEFT_TSAN
  Goroutine* resumed = os::current_g();
  arch::fiber_arrive(resumed->fiber);
  arch::fiber_acquire(resumed);
#endif
}

inline void runs_untraced(Processor& p, Goroutine* g) noexcept {
  transition_untraced(g, GStatus::kRunnable, GStatus::kRunning);
  p.counters.bump(Counter::kSwitches);
  if (WEFT_LIKELY(g->last_p == p.id)) return;
  g->last_p = static_cast<std::uint16_t>(p.id);
  p.counters.bump(Counter::kMigrations);
}

// May switch. Leaves g for a goroutine or record whose context is ours. Returns on the resumed side, perhaps much
// later, perhaps on another thread. Nothing is kept in registers meanwhile, not even g: the switch saves them for our
// callers, and we would have to save them once more.
__attribute__((always_inline)) inline void switch_to(Goroutine* g, const Machine& m, Goroutine* target, void* context,
                                                     bool fresh) noexcept {
  save_thread_state(g, m);
  WEFT_DELAY_SITE("switch.before_save");
  lend_thread_to(target, m, fresh);
  arch::fiber_leave(g->fiber, target->fiber, false);
  weft_switch_context(reinterpret_cast<void**>(&g->sp), context, fresh);
  arrive();
}

// The goroutine in the slot, if nothing comes before it and it has left its thread: then its context is ours. With a
// null context, `next` is what else the slot held, if anything.
struct Successor {
  Runnable next;
  void* context = nullptr;
};
__attribute__((always_inline)) inline Successor take_successor(const Goroutine* g, Processor& p) noexcept {
  Successor successor;
  if (WEFT_UNLIKELY((g->flags & kGSlowPark) != 0 || g->ready_at != 0 || !slot_is_first(p))) return successor;
  successor.next = pick_slot(p);
  Goroutine* target = successor.next.goroutine();
  if (WEFT_UNLIKELY(!successor.next || successor.next.is_record() || (target->flags & kGSlowSwitch) != 0))
    return successor;
  successor.context = target->sp.load_acquire();  // pairs: goroutine.sp
  if (WEFT_LIKELY(successor.context != nullptr)) {
    p.tick.bump();
    target->sp.store_relaxed(nullptr);  // ours now
  }
  return successor;
}

}  // namespace weft::sched
