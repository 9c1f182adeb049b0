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
#include "sched/model/gangs.h"
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

// Runs p's timers that are due. On an overloaded P no more sleepers become runnable than are dispatched until the next
// look. The others stay in the heap, where the longest overdue is first. In the queues newer ones would overtake them,
// and all of them would overtake the entries of the global queue.
__attribute__((noinline)) void run_own_timers(Processor& p) noexcept {
  p.until_timers = kTimerCheckInterval;
  const std::int64_t now = os::now_ns();
  if (p.timers.next_ns() > now) return;
  std::uint32_t limit = TimerHeap::kBatch;
  if (policy().load(p).all() >= TimerHeap::kBatch) {
    limit = kTimerCheckInterval;
    if (!scheduler.inject.empty())
      p.until_timers = 2 * kTimerCheckInterval;  // half of the dispatches go to the global queue's entries
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

// What this P runs next; nothing: g0 decides. The caller passes it to accept() (next_run.h).
inline Pick pick(Processor& p) noexcept {
  p.tick.bump();
  if (WEFT_UNLIKELY(p.attention.load_relaxed() != 0)) return {};  // g0 answers the request
  if (WEFT_UNLIKELY(p.timers.next_ns() != TimerHeap::kNever)) return pick_beside_timers(p);
  return pick_now(p);
}

// The queue, of g's priority, of goroutines that wait for any P.
inline InjectQueue& queue_of(const Goroutine* g) noexcept {
  return (g->flags & kGIdle) == 0 ? scheduler.inject : scheduler.idle_priority;
}

// --- the switch ---

// Takes the context of a runnable goroutine, which may still be on its way out of another thread. Null: sp is not there
// yet.
//   Deadlock  A caller on the stack of a goroutine that is itself published must not wait any longer for sp. Two
//             threads, each leaving its goroutine for the other's, would wait for each other. Such a caller goes to g0,
//             which saves its goroutine, and waits there.
inline void* try_take_context(Goroutine* g) noexcept {
  void* sp = g->sp.load_acquire();  // pairs: goroutine.sp
  for (unsigned looks = 0; WEFT_UNLIKELY(sp == nullptr) && looks < 64; ++looks) {
    base::cpu_relax();
    sp = g->sp.load_acquire();  // pairs: goroutine.sp
  }
  if (WEFT_LIKELY(sp != nullptr)) g->sp.store_relaxed(nullptr);  // ours now
  return sp;
}

// On g0: waits for sp. The other thread may have lost its CPU between publishing the goroutine and saving its context,
// so we yield ours: busy waiting would cost a whole time slice of the kernel's. Null: that thread is away for longer
// than kYields.
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

// Gives a record the G and stack it will run on. Null: there is no stack for it now.
inline Goroutine* attach(Processor& p, Runnable runnable) noexcept {
  Goroutine* g = WEFT_LIKELY(!runnable.has_extra()) ? scheduler.stacks.take(p) : take_goroutine_for(p, runnable);
  if (g != nullptr) g->record = runnable.record();
  return g;
}

// May switch. Leaves g, which has been published, for `next`, or for g0 if there is none. Returns on the resumed side.
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
    if (target == g) {  // g was made runnable again before it left
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

// May switch. Leaves g, which is known to block its thread in user code (kGBlocks). When g is resumed it returns to
// user code without its P (lease.h).
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

// The record that has been attached to the current G becomes a running goroutine.
inline void start_goroutine(Processor& p, Goroutine* g) noexcept {
  if (WEFT_LIKELY((g->flags & kGDetails) == 0) || g->id == 0) g->id = new_goroutine_id(p);
  g->site = g->record->site;
  g->last_p = static_cast<std::uint16_t>(p.id);
  p.counters.bump(Counter::kStarts);
  transition(g, GStatus::kDead, GStatus::kRunning);
}

// May switch. User code may run here (destructors of goroutine locals) and lose the P, so P is read afterwards.
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

// Two-phase waiting, for a member of a gang: its waker probably runs right now, and if it comes within the time of about
// two switches, with the cache misses that follow them, they are saved.
void wait_for_gang(const Goroutine* g, const Processor& p) noexcept {
  constexpr std::uint64_t kPauseUs = 2;
  if (maxprocs() == 1 || scheduler.overcommitted.load_relaxed()) return;  // the waker may need this CPU
  if (!policy().pauses_before_parking() || !Gangs::others_run(*g->gang)) return;
  const std::uint64_t end = os::ticks() + os::us_to_ticks(kPauseUs);
  while (g->status.load_relaxed() == GStatus::kWaiting && p.attention.load_relaxed() == 0 && os::ticks() < end)
    base::cpu_relax(4);
}

// For a goroutine that parks. The thread of a locked one runs nothing else: g0 gives the P away.
__attribute__((noinline)) Runnable pick_unusually(const Goroutine* g, Processor& p) noexcept {
  if ((g->flags & kGMember) != 0) wait_for_gang(g, p);
  return (g->flags & kGLocked) != 0 ? Runnable() : accept(p, pick(p));
}

}  // namespace

void park_slowly(Runnable next) noexcept {
  Goroutine* g = os::current_g();
  Processor& p = *os::current_p();
  if (next) {
    p.tick.bump();
  } else if (WEFT_LIKELY((g->flags & (kGLocked | kGMember)) == 0)) {
    next = accept(p, pick(p));
  } else {
    next = pick_unusually(g, p);
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
    if (target == nullptr) {  // the record waits until a goroutine ends and leaves its stack
      scheduler.starved.push(runnable);
      return;
    }
    context = arch::fresh_context(target);
  } else {
    target = runnable.goroutine();
    context = take_context(target);
    if (WEFT_UNLIKELY(context == nullptr)) {
      // Others come first. The M that looks for them next finds this one behind them, so no M need be woken.
      queue_of(target).push(runnable);
      return;
    }
    starts_running(p, target, false);
  }
  lend_thread_to(target, m, runnable.is_record());
  // A request that came during the search was written into the stack guard, which has just been overwritten.
  if (WEFT_UNLIKELY(p.attention.load_relaxed() != 0)) arch::set_stack_guard(arch::kGiveWay);
  arch::fiber_leave(m.fiber, target->fiber, false);
  weft_switch_context(&m.g0_sp, context, runnable.is_record());
  arch::fiber_arrive(m.fiber);
}

namespace {

// May switch. The usual way out is here as a whole. All else is a tail call, so that park() needs no frame for it.
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

// As pick(), for g, which yields. In the usual case the policy also puts g behind the others (Pick::exchanged).
inline Pick pick_to_yield(Processor& p, Goroutine* g) noexcept {
  if (WEFT_UNLIKELY(p.timers.next_ns() != TimerHeap::kNever || (g->flags & kGIdle) != 0 || trace::recording()))
    return pick(p);
  p.tick.bump();
  if (WEFT_UNLIKELY(has_turn(p))) return ask_policy_in_turn(p);
  p.slice_tick.bump();
  transition_untraced(g, GStatus::kRunning, GStatus::kRunnable);  // before a thief can see it
  arch::fiber_release(g);
  const Pick picked = policy().exchange(p, Runnable(g));
  if (WEFT_UNLIKELY(!picked.exchanged)) transition_untraced(g, GStatus::kRunnable, GStatus::kRunning);
  return picked;
}

// May switch. yield() for a goroutine that leases its P when it returns to user code.
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
    const Pick picked = pick_to_yield(*p, g);
    if (WEFT_LIKELY(picked.exchanged)) {
      wake_after_fence(p);
      return switch_from(g, *p, *os::current_m(), picked.what);
    }
    next = accept(*p, picked);
    if (!next && !scheduler.inject.empty())
      next = take_one_injected(*p);  // it has waited for any P, and longer than we will
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
// The one function of the runtime that calls nothing but the user's code. A stack walk that finds it knows that user
// code was called (frames/interrupted_stack.h).
extern "C" WEFT_NOT_INSTRUMENTED __attribute__((noinline, used)) void weft_run_entry(SpawnRecord* record) {
  entry_of (*record)(record);
  asm volatile("");  // keeps the call from becoming a jump
}
#else
inline void weft_run_entry(SpawnRecord* record) { entry_of (*record)(record); }
#endif

// Runs goroutines to their end on this stack. When one has ended and the next is an unstarted record, the record starts
// right here, on the same G and stack, without a switch.
extern "C" WEFT_NEVER_RETURNS __attribute__((used)) void weft_goroutine_main() {
  Goroutine* g = os::current_g();
  arch::fiber_arrive(g->fiber);
  for (;;) {
    clear_thread_state(*os::current_m());  // each time: the goroutine before may have left something on this thread
    SpawnRecord* record = g->record;
    arch::fiber_acquire(record);
    detail::order_acquire(record);  // for TSan: what the caller of go() did comes before
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
