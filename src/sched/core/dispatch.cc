// SPDX-License-Identifier: MIT
#include "sched/core/dispatch.h"

#include <sched.h>
#include <algorithm>

#include "arch/context.h"
#include "base/delay_site.h"
#include "os/clock.h"
#include "sched/core/arrivals.h"
#include "sched/core/lease.h"
#include "sched/core/next_run.h"
#include "sched/core/preempt.h"
#include "sched/core/switch.h"
#include "sched/state/locals.h"
#include "sched/state/process_end.h"
#include "sched/state/run_sample.h"
#include "sched/state/spawn.h"
#include "sched/tracing/trace_points.h"
#include "sched/tracing/traced_moves.h"
#include "weft/detail/happens_before.h"

namespace weft::sched {
namespace {

constexpr std::uint32_t kTimerCheckInterval = 8;  // dispatches between looks at the clock while timers are pending

// With more to run than there is time for, no more become runnable than are dispatched until the next look. The others stay in the
// heap, where the longest overdue are first; in the queues they would be overtaken, those in the global queue by all of them.
__attribute__((noinline)) void run_own_timers(Processor& p) noexcept {
  p.until_timers = kTimerCheckInterval;
  const std::int64_t now = os::now_ns();
  if (p.timers.next_ns() > now) return;
  std::uint32_t limit = TimerHeap::kBatch;
  if (policy().load(p).all() >= TimerHeap::kBatch) {
    limit = kTimerCheckInterval;
    if (!scheduler.inject.empty())
      p.until_timers = 2 * kTimerCheckInterval;  // half of them take turns with the sleepers
  }
  DueSleepers sleepers;
  p.counters.bump(Counter::kTimersFired, p.timers.run_due(now, true, sleepers, limit));
  if (!place_sleepers(p, sleepers)) wake_for_queued_work(&p);
}

inline Pick pick_now(Processor& p) noexcept {
  if (const Runnable slotted = pick_slot(p)) return {slotted};
  return ask_policy(p);
}
__attribute__((noinline)) Pick pick_beside_timers(Processor& p) noexcept {
  if (--p.until_timers == 0) run_own_timers(p);
  return pick_now(p);
}

// What this P runs next, or nothing: then g0 decides. To be accepted (next_run.h).
inline Pick pick(Processor& p) noexcept {
  p.tick.bump();
  if (WEFT_UNLIKELY(p.attention.load_relaxed() != 0)) return {};  // g0 sees to it
  if (WEFT_UNLIKELY(p.timers.next_ns() != TimerHeap::kNever)) return pick_beside_timers(p);
  return pick_now(p);
}

// Of those that wait for any P.
inline InjectQueue& queue_of(const Goroutine* g) noexcept {
  return (g->flags & kGIdle) == 0 ? scheduler.inject : scheduler.idle_priority;
}

// --- the switch ---

// Takes a runnable goroutine that may still be on its way out of another thread. Null: not there yet.
//   Who calls this on the stack of a goroutine that is itself published must not wait: the other thread may be waiting for
//   just that goroutine (each leaves one for the other's). It goes to g0, which saves it, and waits there.
inline void* try_take_context(Goroutine* g) noexcept {
  void* sp = g->sp.load_acquire();  // pairs: goroutine.sp
  for (unsigned looks = 0; WEFT_UNLIKELY(sp == nullptr) && looks < 64; ++looks) {
    base::cpu_relax();
    sp = g->sp.load_acquire();  // pairs: goroutine.sp
  }
  if (WEFT_LIKELY(sp != nullptr)) g->sp.store_relaxed(nullptr);  // ours now
  return sp;
}

// On g0. That thread may have lost its CPU between publishing and saving: waiting busily for it would cost the kernel's whole slice.
// Null: it is away for longer than that.
inline void* take_context(Goroutine* g) noexcept {
  constexpr int kYields = 64;
  void* sp = try_take_context(g);
  for (int i = 0; WEFT_UNLIKELY(sp == nullptr) && i < kYields; ++i) {
    sched_yield();
    sp = try_take_context(g);
  }
  return sp;
}

__attribute__((noinline)) void check_unguarded_stack(const Goroutine* g) noexcept {
  const auto* here = static_cast<const std::byte*>(__builtin_frame_address(0));
  if (here < g->stack_bottom + 512)
    base::fatal("goroutine %llu: stack overflow (limit %u KiB; this kernel gives no guard page for it)",
                static_cast<unsigned long long>(g->id), g->stack_bytes / 1024);
}

inline void starts_running(Processor& p, Goroutine* g, bool at_once) noexcept {
  if (trace::recording()) trace_transition(g, GStatus::kRunnable, GStatus::kRunning, at_once);
  runs_untraced(p, g);
}

// Gives a record the G and stack it will run on. Null: no stack to be had now.
inline Goroutine* attach(Processor& p, Runnable runnable) noexcept {
  Goroutine* g = WEFT_LIKELY(!runnable.has_extra()) ? scheduler.stacks.take(p) : take_goroutine_for(p, runnable);
  if (g != nullptr) g->record = runnable.record();
  return g;
}

// Returns on the resumed side.
__attribute__((always_inline)) inline void switch_from(Goroutine* g, Processor& p, Machine& m, Runnable next) noexcept {
  if (WEFT_UNLIKELY(!next || (g->flags & kGSlowSwitch) != 0)) {
    m.handed = next;
    switch_to_system_stack(g);
    return;
  }
  close_sample(g);
  Goroutine* target;
  void* context;
  if (next.is_record()) {
    target = attach(p, next);
    if (WEFT_UNLIKELY(target == nullptr)) {
      m.handed = next;
      switch_to_system_stack(g);
      return;
    }
    context = arch::fresh_context(target);
  } else {
    target = next.goroutine();
    if (target == g) {  // made runnable again before it left
      starts_running(p, g, true);
      arch::fiber_acquire(g);
      return;
    }
    if (WEFT_UNLIKELY((target->flags & kGSlowSwitch) != 0)) {
      m.handed = next;
      switch_to_system_stack(g);
      return;
    }
    context = try_take_context(target);
    if (WEFT_UNLIKELY(context == nullptr)) {
      m.handed = next;
      switch_to_system_stack(g);
      return;
    }
    starts_running(p, target, true);
  }
  switch_to(g, m, target, context, next.is_record());
}

// Leaves a goroutine that blocks its thread in user code, and lets it go back there without its P (lease.h).
__attribute__((noinline)) void switch_and_lease(Goroutine* g, Runnable next) noexcept {
  os::current_m()->handed = next;
  switch_to_system_stack(g);
  lease_processor();
}

[[noreturn]] WEFT_NEVER_RETURNS void jump_to_system_stack(Goroutine* ended) noexcept {
  Machine& m = *os::current_m();
  m.dead = ended;
  os::set_current_g(nullptr);
  arch::fiber_leave(ended->fiber, m.fiber, true);
  arch::jump_context(m.g0_sp);
}

// A record has been attached to the current G: it becomes a goroutine of its own.
inline void start_goroutine(Processor& p, Goroutine* g) noexcept {
  if (WEFT_LIKELY((g->flags & kGDetails) == 0) || g->id == 0) g->id = new_goroutine_id(p);
  g->site = g->record->site;
  g->last_p = static_cast<std::uint16_t>(p.id);
  p.counters.bump(Counter::kStarts);
  transition(g, GStatus::kDead, GStatus::kRunning);
}

// User code may run here (destructors of goroutine locals), so P is read afterwards: it may have lost one.
inline Processor& finish_goroutine(Goroutine* g) noexcept {
  if (WEFT_UNLIKELY((g->flags & kGDetails) != 0)) {
    clear_details(g);
    regain_processor();
  }
  Processor& p = *os::current_p();
  g->ready_at = 0;
  g->habits = {};
  transition(g, GStatus::kRunning, GStatus::kDead);
  p.counters.bump(Counter::kFinished);
  arch::fiber_renew(g->fiber, g->stack_bottom, reinterpret_cast<std::byte*>(g + 1));
  return p;
}

}  // namespace

void park_slowly(Runnable next) noexcept {
  Goroutine* g = os::current_g();
  Processor& p = *os::current_p();
  if (next) {
    p.tick.bump();
  } else if (WEFT_LIKELY((g->flags & kGLocked) == 0)) {  // a locked one's thread runs nothing else: g0 gives the P away
    next = accept(p, pick(p));
  }
  if (WEFT_UNLIKELY((g->flags & kGBlocks) != 0)) return switch_and_lease(g, next);
  switch_from(g, p, *os::current_m(), next);
}

void switch_to_system_stack(Goroutine* g) noexcept {
  close_sample(g);
  Machine& m = *os::current_m();
  if (WEFT_UNLIKELY((g->flags & kGUnguarded) != 0)) check_unguarded_stack(g);
  save_thread_state(g, m);
  WEFT_DELAY_SITE("switch.before_save_to_g0");
  os::set_current_g(nullptr);
  arch::fiber_leave(g->fiber, m.fiber, false);
  weft_switch_context(reinterpret_cast<void**>(&g->sp), m.g0_sp, false);
  arrive();
}

void execute_on_system_stack(Machine& m, Runnable runnable) noexcept {
  Processor& p = *m.p;
  Goroutine* target;
  void* context;
  if (runnable.is_record()) {
    target = attach(p, runnable);
    if (target == nullptr) {  // waits until a goroutine ends
      scheduler.starved.push(runnable);
      return;
    }
    context = arch::fresh_context(target);
  } else {
    target = runnable.goroutine();
    context = take_context(target);
    if (WEFT_UNLIKELY(context == nullptr)) {  // others come first; who looks for them next finds it behind them, so nobody need be woken
      queue_of(target).push(runnable);
      return;
    }
    starts_running(p, target, false);
  }
  lend_thread_to(target, m, runnable.is_record());
  // Who asked while we searched asked the goroutine before: its word has just been overwritten.
  if (WEFT_UNLIKELY(p.attention.load_relaxed() != 0)) arch::set_stack_guard(arch::kGiveWay);
  arch::fiber_leave(m.fiber, target->fiber, false);
  weft_switch_context(&m.g0_sp, context, runnable.is_record());
  arch::fiber_arrive(m.fiber);
}

namespace {

// The way most goroutines leave stands here as a whole; the rest is called last, so that park() needs no frame for it.
template <bool kTraced>
__attribute__((always_inline)) inline void park_now() noexcept {
  WEFT_DCHECK(!os::holds_any_rank(), "a goroutine parks holding none of the runtime's locks");
  Goroutine* g = os::current_g();
  Processor& p = *os::current_p();
  const Successor successor = take_successor(g, p);
  if (WEFT_UNLIKELY(successor.context == nullptr)) return park_slowly(successor.next);
  Goroutine* target = successor.next.goroutine();
  if constexpr (kTraced) trace_start_inline(&p, target, true, __builtin_frame_address(0));
  runs_untraced(p, target);
  switch_to(g, *os::current_m(), target, successor.context, false);
}
__attribute__((noinline)) void park_traced() noexcept { park_now<true>(); }

}  // namespace

void park() noexcept {
  if (trace::recording()) return park_traced();
  park_now<false>();
}

void refuse_to_wait_with_lock() noexcept {
  base::fatal(
      "weft: a move, copy or destructor of a channel's element waits or yields; a channel with a buffer calls them under its lock. "
      "Send a pointer to such an object, or use a channel without a buffer");
}

namespace {

inline void queue_behind_others(Goroutine* g, Processor* p) noexcept {
  transition(g, GStatus::kRunning, GStatus::kRunnable);
  arch::fiber_release(g);
  if (WEFT_LIKELY((g->flags & kGIdle) == 0)) {
    if (policy().ready(*p, Runnable(g), Why::kYield) == Place::kOffered) wake_for_queued_work(p);
  } else {
    scheduler.idle_priority.push(Runnable(g));
  }
}

__attribute__((noinline)) void yield_and_lease(Goroutine* g, Processor& p) noexcept {
  const Runnable next = (g->flags & kGLocked) == 0 ? accept(p, pick(p)) : Runnable();
  if (!next && scheduler.inject.empty() && p.attention.load_relaxed() == 0 && (g->flags & kGLocked) == 0) {
    close_sample(g);
    return lease_processor();  // nothing else to run here
  }
  queue_behind_others(g, &p);
  switch_and_lease(g, next);
}

}  // namespace

void yield() noexcept {
  Processor* p = regain_processor();
  Goroutine* g = os::current_g();
  if (p == nullptr) {  // a plain thread, or inside a blocking call
    sched_yield();
    return;
  }
  check_no_lock_held(g);
  Runnable next;
  if (WEFT_LIKELY((g->flags & kGSlowSwitch) == 0 && p->attention.load_relaxed() == 0)) {
    next = accept(*p, pick(*p));
    if (!next && !scheduler.inject.empty())
      next = take_one_injected(*p);  // who waits for any P has waited longer than we will
    if (!next) {                     // nothing else to run here
      close_sample(g);
      return;
    }
  } else if ((g->flags & kGBlocks) != 0) {
    return yield_and_lease(g, *p);
  }
  queue_behind_others(g, p);
  switch_from(g, *p, *os::current_m(), next);
}

void give_way() noexcept {
  Goroutine* g = os::current_g();
  transition(g, GStatus::kRunning, GStatus::kRunnable);
  arch::fiber_release(g);
  Processor* p = os::current_p();
  if (WEFT_UNLIKELY((g->flags & kGIdle) != 0)) scheduler.idle_priority.push(Runnable(g));
  if ((g->flags & kGIdle) != 0 || policy().ready(*p, Runnable(g), Why::kPreempted) == Place::kOffered)
    wake_for_queued_work(p);
  switch_to_system_stack(g);
}

WEFT_NEVER_RETURNS void end_goroutine() noexcept {
  if (WEFT_UNLIKELY(scheduler.forked.load_relaxed())) refuse_in_forked_child();
  regain_processor();
  Goroutine* g = os::current_g();
  SpawnRecord* record = g->record;
  scheduler.records.give(finish_goroutine(g), record);
  g->flags = static_cast<std::uint8_t>(g->flags & ~kGBlocks);
  jump_to_system_stack(g);
}

#if WEFT_ASAN || WEFT_TSAN
// The one function of the runtime that calls nothing but the user's code (preempt.cc).
extern "C" WEFT_NOT_INSTRUMENTED __attribute__((noinline, used)) void weft_run_entry(SpawnRecord* record) {
  entry_of (*record)(record);
  asm volatile("");  // no jump instead of the call
}
#else
inline void weft_run_entry(SpawnRecord* record) { entry_of (*record)(record); }
#endif

// Runs goroutines to their end on this stack: when one has ended and the next is an unstarted record, it starts right here,
// on the same G and stack, without a switch.
extern "C" WEFT_NEVER_RETURNS __attribute__((used)) void weft_goroutine_main() {
  Goroutine* g = os::current_g();
  arch::fiber_arrive(g->fiber);
  for (;;) {
    clear_thread_state(*os::current_m());  // each time: the one before on this stack may have left something
    SpawnRecord* record = g->record;
    arch::fiber_acquire(record);
    detail::order_acquire(record);  // of whoever called go()
    start_goroutine(*os::current_p(), g);
    lease_at_start(g);
    weft_run_entry(record);

    regain_processor();
    if (WEFT_UNLIKELY((g->flags & (kGSlowSwitch | kGOwnStack)) != 0 || !scheduler.starved.empty())) end_goroutine();
    Processor& p = finish_goroutine(g);
    scheduler.records.give(p, record);
    const Runnable next = accept(p, pick(p));
    if (WEFT_LIKELY(next.is_record() && !next.has_extra())) {
      g->record = next.record();
      continue;
    }
    Machine& m = *os::current_m();
    if (!next || next.is_record() || (next.goroutine()->flags & kGSlowSwitch) != 0) {
      m.handed = next;
      jump_to_system_stack(g);
    }
    Goroutine* target = next.goroutine();
    void* context = try_take_context(target);
    if (WEFT_UNLIKELY(context == nullptr)) {
      m.handed = next;
      jump_to_system_stack(g);
    }
    starts_running(p, target, false);
    scheduler.stacks.give(p, g);
    lend_thread_to(target, m, false);
    arch::fiber_leave(g->fiber, target->fiber, true);
    arch::jump_context(context);
  }
}

}  // namespace weft::sched
