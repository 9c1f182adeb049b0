// SPDX-License-Identifier: MIT
#include "policy/classic.h"

#include <algorithm>

#include "sched/dispatch.h"
#include "sched/scheduler.h"
#include "sched/spawn.h"
#include "sched/victim_order.h"

namespace weft::policy {
namespace {

using sched::Counter;
using sched::Hint;
using sched::Placed;
using sched::Processor;
using sched::Runnable;
using sched::scheduler;

constexpr std::uint32_t kPrefetchDistance = 8;

__attribute__((noinline)) void overflow_queue(Processor& p, Runnable extra) noexcept {
  Runnable moved[sched::kRunQueueCapacity / 2 + 1];
  std::uint32_t count = p.queue.pop_half(moved, sched::kRunQueueCapacity / 2);
  moved[count++] = extra;
  p.counters.bump(Counter::kOverflows);
  scheduler.inject.push_bundle(moved, count);
}

__attribute__((noinline)) void overflow_deque(Processor& p, Runnable extra) noexcept {
  do {
    Runnable moved[sched::kDequeCapacity / 2];
    const std::int64_t count = p.deque.take_half_for_overflow(moved);  // 0: a thief made room
    if (count > 0) p.counters.bump(Counter::kOverflows);
    scheduler.inject.push_bundle(moved, static_cast<std::uint32_t>(count));
  } while (!p.deque.push(extra));
}

inline void push_queue(Processor& p, Runnable runnable) noexcept {
  if (runnable.is_record()) {
    if (WEFT_UNLIKELY(!p.deque.push(runnable))) overflow_deque(p, runnable);
  } else if (WEFT_UNLIKELY(!p.queue.push(runnable))) {
    overflow_queue(p, runnable);
  }
}

// A goroutine that runs soon: with many of them its G and the end of its stack are in no cache. Not worth it with few.
inline void prefetch_following(const Processor& p) noexcept {
  if (const Runnable following = p.queue.peek(kPrefetchDistance)) __builtin_prefetch(following.goroutine());
}

// How many picks until the global queue comes first again. Its oldest should wait no longer than kGlobalWaitNs, so goroutines that run long let it
// pass more often; but those in it are served no more often than those that wait here.
std::uint32_t picks_until_global(const Processor& p, std::uint32_t waiting_here) noexcept {
  constexpr std::uint64_t kGlobalWaitNs = 300'000;
  if (WEFT_UNLIKELY(scheduler.settings.seed_search_order)) return sched::kGlobalInterval;  // as the documents have it
  const std::uint64_t by_time = kGlobalWaitNs / (p.average_ns.load_relaxed() + 1);
  const std::uint64_t by_share = 2 + waiting_here / std::max<std::size_t>(scheduler.inject.size(), 1);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(std::max(by_time, by_share), sched::kGlobalInterval));
}

__attribute__((noinline)) Runnable drain_inbox(Processor& p) noexcept {
  sched::RunnableList arrived = sched::take_inbox(p);
  const Runnable first = arrived.pop();
  while (const Runnable other = arrived.pop()) push_queue(p, other);
  return first;
}

__attribute__((noinline)) Runnable pick_for_fairness(Processor& p) noexcept {
  p.until_global = p.global_interval = picks_until_global(p, p.queue.size() + static_cast<std::uint32_t>(p.deque.size()));
  if (WEFT_UNLIKELY(!p.inbox.empty()))
    if (const Runnable arrived = drain_inbox(p)) return arrived;
  // One only: a batch of old records on top of the deque would turn depth-first into breadth-first.
  if (const Runnable injected = sched::take_one_injected(p)) return injected;
  return p.deque.steal();  // the oldest record: LIFO alone would starve it
}

// The slot's goroutines have used up the runs they were granted.
__attribute__((noinline)) bool chain_goes_on(Processor& p) noexcept {
  constexpr std::uint64_t kShortestTurnUs = 100;  // some fifty switches and more: what a change of chains costs in the caches is paid for
  const std::uint64_t waiting = p.queue.size() + static_cast<std::uint64_t>(p.deque.size());
  if (waiting == 0) {
    p.turn.go_on_alone();
    return true;
  }
  const auto slice_us = static_cast<std::uint64_t>(scheduler.settings.slice_ns / 1000);
  return p.turn.goes_on(os::ticks(), os::us_to_ticks(std::max(slice_us / (1 + waiting), kShortestTurnUs)));
}

Runnable steal_queue(Processor& thief, Processor& victim) noexcept {
  Runnable taken[sched::kRunQueueCapacity / 2];
  const std::uint32_t count = victim.queue.pop_half(taken, sched::kRunQueueCapacity / 2);
  if (count == 0) return Runnable();
  for (std::uint32_t i = 1; i < count; ++i) push_queue(thief, taken[i]);
  thief.counters.bump(Counter::kGoroutinesStolen, count);
  return taken[0];
}

Runnable steal_records(Processor& thief, Processor& victim) noexcept {
  const std::int64_t half = std::min<std::int64_t>(victim.deque.size() / 2, sched::kDequeCapacity / 2 - 1);
  const Runnable first = victim.deque.steal();
  if (!first) return first;
  std::uint64_t count = 1;
  for (std::int64_t i = 0; i < half; ++i) {
    const Runnable more = victim.deque.steal();
    if (!more) break;
    push_queue(thief, more);
    ++count;
  }
  thief.counters.bump(Counter::kGoroutinesStolen, count);
  return first;
}

Runnable steal_slot(Processor& thief, Processor& victim, const std::uint32_t* seen_ticks) noexcept {
  const auto is_aged = [&] { return victim.slot.look() && victim.tick.load_relaxed() == seen_ticks[victim.id]; };
  if (!is_aged()) return Runnable();
  const Runnable taken = victim.slot.rob(is_aged);
  if (!taken) return taken;
  victim.watch.fetch_or_relaxed(sched::kWatchCaughtAged);
  thief.counters.bump(Counter::kGoroutinesStolen);
  thief.counters.bump(Counter::kSlotsStolen);
  return taken;
}

}  // namespace

Placed Classic::ready(Processor& p, Runnable runnable, Hint hint) noexcept {
  if (WEFT_UNLIKELY(scheduler.settings.random_schedule) && (p.random.next() & 1) != 0) hint = Hint::kVisible;
  if (hint >= Hint::kYield) {
    if (WEFT_LIKELY(hint != Hint::kInTurn)) {
      push_queue(p, runnable);
    } else if (!p.queue.push(runnable)) {
      overflow_queue(p, runnable);
    }
    return Placed::kQueue;
  }
  if (hint == Hint::kSpawn && WEFT_UNLIKELY(scheduler.settings.spawn_at_back)) {  // the deque would run it first
    if (!p.queue.push(runnable)) overflow_queue(p, runnable);
    return Placed::kQueue;
  }
  if (!p.slot.look()) {  // thieves only empty it
    p.slot.put(runnable);
    return Placed::kSlot;
  }
  const Runnable displaced = p.slot.replace(runnable);
  if (!displaced) return Placed::kSlot;
  push_queue(p, displaced);
  return Placed::kQueue;
}

bool Classic::fills_slot() const noexcept { return !scheduler.settings.random_schedule; }

Runnable Classic::next(Processor& p) noexcept {
  if (WEFT_UNLIKELY(scheduler.settings.random_schedule)) p.alternate = static_cast<std::uint32_t>(p.random.next());
  if (WEFT_UNLIKELY(--p.until_global == 0))
    if (const Runnable fair = pick_for_fairness(p)) return fair;
  if (WEFT_UNLIKELY(scheduler.settings.wake_on_last_p))
    if (const Runnable arrived = drain_inbox(p)) return arrived;
  if (const Runnable slotted = p.slot.take()) {
    if (p.turn.has_run_left()) {
      p.turn.use_run();
      return slotted;
    }
    if (chain_goes_on(p)) return slotted;
    push_queue(p, slotted);
  }
  p.turn.begin();
  p.slice_tick.bump();
  if ((++p.alternate & 3) == 0)
    if (const Runnable record = p.deque.pop()) return record;
  prefetch_following(p);
  if (const Runnable started = p.queue.pop()) return started;
  return p.deque.pop();
}

Runnable Classic::steal(Processor& thief, bool desperate, const std::uint32_t* seen_ticks) noexcept {
  sched::VictimOrder order(sched::maxprocs(), thief.random.next());
  for (std::uint32_t victim_id; order.next(victim_id);) {
    if (victim_id == thief.id) continue;
    Processor& victim = *scheduler.processors[victim_id];
    if (const Runnable stolen = steal_queue(thief, victim)) return stolen;
    if (const Runnable stolen = steal_records(thief, victim)) return stolen;
    if (WEFT_UNLIKELY(!victim.inbox.empty())) {
      sched::RunnableList arrived = sched::take_inbox(victim);
      const Runnable first = arrived.pop();
      while (const Runnable other = arrived.pop()) push_queue(thief, other);
      if (first) return first;
    }
    if (desperate)
      if (const Runnable stolen = steal_slot(thief, victim, seen_ticks)) return stolen;
  }
  return Runnable();
}

bool Classic::has_stealable_work(const Processor* except) const noexcept {
  for (std::uint32_t i = 0; i < sched::maxprocs(); ++i) {
    const Processor& p = *scheduler.processors[i];
    if (&p != except && (!p.queue.empty() || !p.deque.empty() || !p.inbox.empty())) return true;
  }
  return false;
}

std::uint32_t Classic::backlog(const Processor& p) const noexcept {
  return p.queue.size() + static_cast<std::uint32_t>(p.deque.size());
}

void Classic::drain(Processor& p, sched::RunnableList& out) noexcept {
  if (const Runnable slotted = p.slot.take()) out.push(slotted);
  sched::RunnableList arrived = sched::take_inbox(p);
  out.append(arrived);
  while (const Runnable started = p.queue.pop()) out.push(started);
  while (const Runnable record = p.deque.steal()) out.push(record);  // oldest first
}

}  // namespace weft::policy
