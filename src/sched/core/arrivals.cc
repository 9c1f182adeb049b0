// SPDX-License-Identifier: MIT
#include "sched/core/arrivals.h"

#include <algorithm>

#include "base/delay_site.h"
#include "os/clock.h"
#include "sched/core/machines.h"
#include "sched/rule/brief_sleepers.h"
#include "sched/rule/wake_rule.h"
#include "sched/state/apart.h"
#include "sched/state/control.h"
#include "sched/state/processor_work.h"
#include "sched/state/spawn.h"
#include "sched/tracing/trace_points.h"
#include "sched/tracing/traced_moves.h"

namespace weft::sched {
namespace {

// --- rule R5: does this goroutine compute on after waking others? ---

__attribute__((noinline)) bool look_closer(Processor& p, Goroutine* g) noexcept {
  const std::uint32_t watch = p.watch.load_relaxed();
  if (watch != 0) p.watch.store_relaxed(0);  // a bit set meanwhile is lost, and set again at the next occasion
  if (watch & kWatchCaughtAged) g->habits.note_caught();
  if (g->ready_at == 0) g->ready_at = os::ticks();
  return g->habits.watched != 0;
}

inline bool computes_on(Processor& p) noexcept {
  Goroutine* g = os::current_g();
  return g != nullptr && WEFT_UNLIKELY((p.watch.load_relaxed() | g->habits.watched) != 0) && look_closer(p, g);
}

// --- where it goes ---

constexpr std::size_t kMostInjected = 128;  // taken from the global queue at once, beside the one that runs now

bool waits_for_lock(WaitReason reason) noexcept {
  return reason == WaitReason::kMutex || reason == WaitReason::kSharedMutexRead || reason == WaitReason::kSharedMutexWrite;
}

inline void place(Processor& p, Runnable runnable, Why why) noexcept {
  const IdleView view = scheduler.idle.look();
  const Known known = WEFT_UNLIKELY(!view.quiet()) && computes_on(p) ? Known::kWakerGoesOn : Known::kNothing;
  const Place place = policy().ready(p, runnable, why, known);
  if (place == Place::kOffered) {
    wake_for_queued_work(&p);
  } else if (WEFT_UNLIKELY(rule::lacks_spinner(view)) && place == Place::kNext) {
    // R1: no M would look into the slot. A waker that is known to run briefly (a ticker) is not worth a wake.
    const Goroutine* g = os::current_g();
    if (g == nullptr || !g->habits.runs_briefly()) wake_one(&p);
  }
}

// A shortcut of place() that does not ask the policy: the slot is empty, the policy has granted runs out of it, and no
// other core need be woken. False: the caller has to use place().
inline bool put_into_slot(Processor& p, Goroutine* woken) noexcept {
  if (WEFT_UNLIKELY(p.slot_runs == 0 || (woken->flags & (kGIdle | kGMember)) != 0 || p.slot.look())) return false;
  const IdleView view = scheduler.idle.look();
  if (WEFT_UNLIKELY(!view.quiet())) {
    const Goroutine* waker = os::current_g();
    if (waker == nullptr || rule::lacks_spinner(view)) return false;
    if ((p.watch.load_relaxed() | waker->habits.watched) != 0) return false;
  }
  p.slot.put(Runnable(woken));
  return true;
}

// A53 (wake on last P, for measurements): sends g to the P it last ran on, if that is another P and running. False: the
// caller places g.
bool send_to_last_processor(Processor& here, Goroutine* g) noexcept {
  if (!policy().keeps_work_on_processors()) return false;
  if (g->last_p == here.id || g->last_p >= maxprocs()) return false;
  Processor& target = *scheduler.processors[g->last_p];
  if (target.status() != PStatus::kRunning) return false;
  target.inbox.push(Runnable(g));
  wake_for_queued_work(&here);
  return true;
}

// True: g belongs to a test, and the test has taken it, or has ended, and g never runs again.
bool is_kept_by_test(const Processor* p, Goroutine* g) noexcept {
  const Control* active = control.load_acquire();  // pairs: control
  if (active == nullptr) return true;
  if (p != nullptr && (g->flags & kGIdle) == 0) return false;  // the policy takes it
  active->admit(g);
  return true;
}

__attribute__((noinline)) void place_woken(Processor* p, Goroutine* g) noexcept {
  if (WEFT_UNLIKELY(is_controlled(g)) && is_kept_by_test(p, g)) return;
  if (WEFT_UNLIKELY((g->flags & kGIdle) != 0)) {
    scheduler.idle_priority.push(Runnable(g));
    wake_for_queued_work(p);
  } else if (WEFT_LIKELY(p != nullptr)) {
    if (WEFT_UNLIKELY(settings.wake_on_last_p) && send_to_last_processor(*p, g)) return;
    place(*p, Runnable(g), waits_for_lock(g->wait_reason) ? Why::kUnlock : Why::kWake);
  } else {
    inject(Runnable(g));
  }
}

// Work in the global queue takes turns with the sleepers: as many of each. Served only at every 61st pick, it would
// wait while the goroutines before it run and sleep over and over. True: some was placed.
__attribute__((noinline)) bool place_injected_beside(Processor& p, std::size_t sleepers) noexcept {
  const std::size_t room = policy().room(p);
  Runnable batch[TimerHeap::kBatch];
  const std::size_t count = scheduler.inject.pop(batch, std::min({sleepers, room / 2, std::size(batch)}));
  p.counters.bump(Counter::kGlobalGets, count);
  policy().ready_all(p, batch, count, Why::kTimer);
  return count > 0;
}

__attribute__((always_inline)) inline void make_ready(Processor* p, Goroutine* g) noexcept {
  transition_untraced(g, GStatus::kWaiting, GStatus::kRunnable);
  arch::fiber_release(g);
  WEFT_DELAY_SITE("ready.before_queue");
  if (WEFT_UNLIKELY(p == nullptr || !put_into_slot(*p, g))) place_woken(p, g);
}

__attribute__((noinline)) void ready_unusual(Goroutine* g, const void* frame) noexcept {
  Processor* p = os::current_p();
  trace_unblock_inline(p, g, frame);
  make_ready(p, g);
}

// A traced wake-up by a goroutine, in the usual case: whatever is not inlined here is a tail call.
__attribute__((noinline)) void ready_traced(Goroutine* g) noexcept {
  // The recorded stack begins at our caller's frame; this one would tell a reader nothing.
  const void* frame = *static_cast<void* const*>(__builtin_frame_address(0));
  Goroutine* self = os::current_g();
  // A frame above the stack needs no test: no chain is known at that height.
  if (WEFT_UNLIKELY(self == nullptr || frame <= self->stack_bottom)) return ready_unusual(g, frame);
  if (WEFT_UNLIKELY(!trace::usual_unblock_there(&self->mark, {frame, self->stack_bottom, self},
                                                self->chain_hints.unblock, &g->mark, g->id)))
    return ready_unusual(g, frame);
  make_ready(os::current_p(), g);
}

}  // namespace

void ready(Goroutine* g) noexcept {
  if (trace::recording()) return ready_traced(g);
  make_ready(os::current_p(), g);
}

void collect(Goroutine* g, RunnableList& out) noexcept {
  transition(g, GStatus::kWaiting, GStatus::kRunnable);
  arch::fiber_release(g);
  if (WEFT_UNLIKELY((g->flags & kGIdle) != 0)) {
    place_woken(os::current_p(), g);  // not inlined, so that the usual path saves no registers for it
  } else {
    out.push(Runnable(g));
  }
}

// Makes sleepers runnable, a few at a time, so that the memory reads for one overlap with those for the others. The
// prefetches of a group are issued one right behind the other. Each waits until its address is translated, because a
// page of the goroutine's own is in no TLB, and only prefetches in flight together share that wait.
static void collect_sleepers(const DueSleepers& sleepers, RunnableList& out) noexcept {
  constexpr std::uint32_t kTogether = 8, kLinesOfFrames = 4;
  for (std::uint32_t first = 0; first < sleepers.count; first += kTogether) {
    const std::uint32_t end = std::min(first + kTogether, sleepers.count);
    for (std::uint32_t i = first; i < end; ++i) {
      __builtin_prefetch(sleepers.goroutines[i], 1);
      __builtin_prefetch(reinterpret_cast<std::byte*>(sleepers.goroutines[i]) + base::kCacheLine, 1);
    }
    for (std::uint32_t i = first; i < end; ++i) {
      Goroutine* g = sleepers.goroutines[i];
      // The frames it resumes in: the runtime's and its caller's. Null while g is still on its way out of its thread; a
      // prefetch of that does no harm.
      const auto* sp = static_cast<const std::byte*>(g->sp.load_relaxed());
      for (std::uint32_t line = 0; line < kLinesOfFrames; ++line) __builtin_prefetch(sp + line * base::kCacheLine);
      collect(g, out);
    }
  }
}

bool place_sleepers(Processor& p, const DueSleepers& sleepers) noexcept {
  RunnableList woken;
  collect_sleepers(sleepers, woken);
  const std::size_t count = woken.size();
  BriefSleepers together(count);
  while (const Runnable sleeper = woken.pop()) {
    const bool is_brief = together.add(sleeper.goroutine()->runs_between_sleeps);
    policy().ready(p, sleeper, Why::kTimer, is_brief ? Known::kRunsBriefly : Known::kNothing);
  }
  if (WEFT_UNLIKELY(!scheduler.inject.empty()) && place_injected_beside(p, count)) return false;
  return together.suit_one_thread();
}

void submit(Runnable record) noexcept {
  Processor* p = os::current_p();
  SpawnRecord* const filled = record.record();
  count(p, Counter::kSpawns);
  if (trace::recording()) arch::cold_call<trace_spawn>(record.bits(), 0);
  arch::fiber_release(filled);  // after the tracer, which writes into the record's extra part
  if (WEFT_UNLIKELY(record.has_extra()) && extra_of(record).idle) {
    scheduler.idle_priority.push(record);
    wake_for_queued_work(p);
  } else if (WEFT_LIKELY(p != nullptr)) {
    place(*p, record, Why::kSpawn);
  } else {
    inject(record);
  }
}

void inject(Runnable runnable) noexcept {
  scheduler.inject.push(runnable);
  wake_for_queued_work(os::current_p());
}

void inject(RunnableList& chain) noexcept {
  if (chain.empty()) return;
  scheduler.inject.push(chain);
  wake_for_queued_work(os::current_p());
}

void inject_sleepers(const DueSleepers& sleepers) noexcept {
  RunnableList woken;
  collect_sleepers(sleepers, woken);
  inject(woken);
}

// R8: the passive spinner is suppressed. Is the work of p (null: of a thread without a P) worth a wake?
static bool may_recall(const Processor* p, IdleView view) noexcept {
  // While another P is busy, a P that has retreated is recalled only for work that sharing does not slow down.
  const std::int64_t apart_ns = scheduler.passive_apart_ns.load_relaxed();
  if (apart_ns != 0 && view.idle() + 1 < maxprocs()) {
    if (p == nullptr || !outweighs_sharing(*p) || os::now_ns() < apart_ns) return false;
    scheduler.passive_apart_ns.store_relaxed(0);  // recalled; a wake-up for a timer leaves the value alone
    return true;
  }
  if (p == nullptr) return true;
  return rule::worth_recalling({policy().load(*p).offered + scheduler.inject.size(), p->average_ns.load_relaxed()});
}

void wake_for_queued_work(Processor* p) noexcept {
  WEFT_DELAY_SITE("submit.before_fence");
  base::full_fence();  // pairs: submit.retire
  wake_after_fence(p);
}

void wake_beside_idle(Processor* p, IdleView view) noexcept {
  WEFT_DELAY_SITE("submit.before_wake");
  switch (rule::whom_to_wake(view)) {
    case rule::Wake::kPassive:
      if (!view.suppressed() || may_recall(p, view)) wake_passive(p);
      return;
    case rule::Wake::kOne: return wake_one(p);
    case rule::Wake::kNone: return;
  }
}

Runnable take_one_injected(Processor& p) noexcept {
  if (scheduler.inject.empty()) return Runnable();
  const Runnable first = scheduler.inject.pop();
  if (first) p.counters.bump(Counter::kGlobalGets);
  return first;
}

Runnable take_injected(Processor& p) noexcept {
  const std::size_t size = scheduler.inject.size();
  if (size == 0) return Runnable();
  // At most half of p's room, because what does not fit would go straight back to the global queue.
  const std::size_t room = policy().room(p);
  Runnable batch[kMostInjected + 1];
  const std::size_t count = scheduler.inject.pop(batch, std::min({size / maxprocs(), room / 2, kMostInjected}) + 1);
  p.counters.bump(Counter::kGlobalGets, count);
  if (count > 1 && policy().ready_all(p, batch + 1, count - 1, Why::kInjected) == Place::kOffered)
    wake_for_queued_work(&p);
  return count > 0 ? batch[0] : Runnable();
}

}  // namespace weft::sched
