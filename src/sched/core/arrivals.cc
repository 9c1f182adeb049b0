// SPDX-License-Identifier: MIT
#include "sched/core/arrivals.h"

#include <algorithm>

#include "base/delay_site.h"
#include "os/clock.h"
#include "sched/core/machines.h"
#include "sched/state/apart.h"
#include "sched/state/processor_work.h"
#include "sched/state/spawn.h"
#include "sched/tracing/trace_points.h"
#include "sched/tracing/traced_moves.h"

namespace weft::sched {
namespace {

// --- rule R.5: does this goroutine compute on after waking others? ---

__attribute__((noinline)) bool look_closer(Processor& p, Goroutine* g) noexcept {
  const std::uint32_t watch = p.watch.load_relaxed();
  if (watch != 0) p.watch.store_relaxed(0);  // a lost bit is set again at the next occasion
  if (watch & kWatchCaughtAged) {
    g->habits.long_runner = kLongRunnerMax;
    g->habits.watched = 1;
  }
  if (g->ready_at == 0) g->ready_at = os::ticks();
  return g->habits.watched != 0;
}

inline bool computes_on(Processor& p) noexcept {
  Goroutine* g = os::current_g();
  return g != nullptr && WEFT_UNLIKELY((p.watch.load_relaxed() | g->habits.watched) != 0) && look_closer(p, g);
}

// --- where it goes ---

constexpr std::size_t kMostInjected = 128;  // that a P takes from the global queue at once, beside the one it runs

bool waits_for_lock(WaitReason reason) noexcept {
  return reason == WaitReason::kMutex || reason == WaitReason::kSharedMutexRead || reason == WaitReason::kSharedMutexWrite;
}

inline void place(Processor& p, Runnable runnable, Why why) noexcept {
  const IdleView view = scheduler.idle.look();
  const Known known = WEFT_UNLIKELY(!view.quiet()) && computes_on(p) ? Known::kWakerGoesOn : Known::kNothing;
  const Place place = policy().ready(p, runnable, why, known);
  if (place == Place::kOffered) {
    wake_for_queued_work(&p);
  } else if (WEFT_UNLIKELY(view.idle() > 0 && view.spinning() == 0) && place == Place::kNext) {
    // W2: a spinner would have seen to it. Known short runners (tickers) are not worth a wake.
    const Goroutine* g = os::current_g();
    if (g == nullptr || g->habits.short_runner < kShortRunner) wake_one(&p);
  }
}

// A wake-up that finds the slot empty, while the policy has granted runs out of it and no other core need hear of it: what
// place() does then, without asking the policy.
inline bool put_into_slot(Processor& p, Goroutine* woken) noexcept {
  if (WEFT_UNLIKELY(p.slot_runs == 0 || (woken->flags & kGIdle) != 0 || p.slot.look())) return false;
  const IdleView view = scheduler.idle.look();
  if (WEFT_UNLIKELY(!view.quiet())) {
    const Goroutine* waker = os::current_g();
    if (waker == nullptr || (view.idle() > 0 && view.spinning() == 0)) return false;
    if ((p.watch.load_relaxed() | waker->habits.watched) != 0) return false;
  }
  p.slot.put(Runnable(woken));
  return true;
}

// A53: to the P it last ran on, if that is another one that is running. False: the caller places it.
bool send_to_last_processor(Processor& here, Goroutine* g) noexcept {
  if (!policy().keeps_work_on_processors()) return false;
  if (g->last_p == here.id || g->last_p >= maxprocs()) return false;
  Processor& target = *scheduler.processors[g->last_p];
  if (target.status() != PStatus::kRunning) return false;
  target.inbox.push(Runnable(g));
  wake_for_queued_work(&here);
  return true;
}

__attribute__((noinline)) void place_woken(Processor* p, Goroutine* g) noexcept {
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

// Who waits for any P takes turns with the sleepers: as many of each. Every 61st pick alone would leave them to wait for all the
// sleeping that those before them do.
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

// A goroutine wakes another, and all is as usual: nothing is called, or last.
__attribute__((noinline)) void ready_traced(Goroutine* g) noexcept {
  // Our caller's frame: this one has nothing to tell.
  const void* frame = *static_cast<void* const*>(__builtin_frame_address(0));
  Goroutine* self = os::current_g();
  // Nor above the stack: there is nothing known at that height.
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
    place_woken(os::current_p(), g);  // a call: those that are woken by the dozen save no registers for it
  } else {
    out.push(Runnable(g));
  }
}

// Makes sleepers runnable a few at a time: what has to be read of each comes from memory together with that of the others, not
// after it. One prefetch right behind the other, because each waits until its address is translated, and only those under way
// at once share that wait: a page of the goroutine's own is in no TLB.
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
      // Where it will go on, in the runtime's frames and the caller's. Null while it is still on its way out of its thread.
      const auto* sp = static_cast<const std::byte*>(g->sp.load_relaxed());
      for (std::uint32_t line = 0; line < kLinesOfFrames; ++line) __builtin_prefetch(sp + line * base::kCacheLine);
      collect(g, out);
    }
  }
}

bool place_sleepers(Processor& p, const DueSleepers& sleepers) noexcept {
  RunnableList woken;
  collect_sleepers(sleepers, woken);
  constexpr std::uint64_t kBriefTogetherUs = 200;  // what one has taken once is now and then three times what it takes
  const std::size_t count = woken.size();
  std::uint64_t all_us = count / 2;  // each takes a little at least
  while (const Runnable sleeper = woken.pop()) {
    const std::uint32_t run_us = sleeper.goroutine()->runs_between_sleeps;
    all_us += run_us;
    const bool is_brief = count == 1 && run_us < kBriefUs;
    policy().ready(p, sleeper, Why::kTimer, is_brief ? Known::kRunsBriefly : Known::kNothing);
  }
  if (WEFT_UNLIKELY(!scheduler.inject.empty()) && place_injected_beside(p, count)) return false;
  return all_us < kBriefTogetherUs;
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

// Stealing proved worthless just now: only a backlog that costs more than a wake is worth another try.
static bool worth_another_try(const Processor& p) noexcept {
  const std::uint64_t backlog = policy().load(p).offered + scheduler.inject.size();
  return backlog >= 128 || backlog * p.average_ns.load_relaxed() >= std::uint64_t{settings.long_us} * 1000;
}

void wake_for_queued_work(Processor* p) noexcept {
  WEFT_DELAY_SITE("submit.before_fence");
  base::full_fence();  // pairs: submit.retire
  const IdleView view = scheduler.idle.look();
  if (view.quiet()) return;
  WEFT_DELAY_SITE("submit.before_wake");
  if (view.passive()) {
    if (view.suppressed()) {
      // With another P busy, one that has retreated hears only of work that sharing does not slow down.
      const std::int64_t apart_ns = scheduler.passive_apart_ns.load_relaxed();
      if (apart_ns != 0 && view.idle() + 1 < maxprocs()) {
        if (p == nullptr || !outweighs_sharing(*p) || os::now_ns() < apart_ns) return;
        scheduler.passive_apart_ns.store_relaxed(0);  // called back; who wakes it for a timer leaves that alone
      } else if (p != nullptr && !worth_another_try(*p)) {
        return;
      }
    }
    wake_passive(p);
  } else if (view.idle() > 0 && view.spinning() == 0) {
    wake_one(p);
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
  // No more than half of the room: what does not fit would go straight back.
  const std::size_t room = policy().room(p);
  Runnable batch[kMostInjected + 1];
  const std::size_t count = scheduler.inject.pop(batch, std::min({size / maxprocs(), room / 2, kMostInjected}) + 1);
  p.counters.bump(Counter::kGlobalGets, count);
  if (count > 1 && policy().ready_all(p, batch + 1, count - 1, Why::kInjected) == Place::kOffered)
    wake_for_queued_work(&p);
  return count > 0 ? batch[0] : Runnable();
}

}  // namespace weft::sched
