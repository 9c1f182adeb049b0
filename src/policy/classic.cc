// SPDX-License-Identifier: MIT
#include "policy/classic.h"

#include <algorithm>
#include <new>

#include "os/clock.h"
#include "os/memory.h"
#include "policy/slot_rule.h"
#include "policy/turn.h"
#include "sched/queue/record_deque.h"
#include "sched/queue/run_queue.h"
#include "sched/queue/victim_order.h"
#include "sched/state/scheduler.h"

namespace weft::policy {

using sched::Counter;
using sched::Known;
using sched::Pick;
using sched::Place;
using sched::Processor;
using sched::Runnable;
using sched::scheduler;
using sched::Why;

namespace {

constexpr std::uint32_t kRingCapacity = 256;
constexpr std::int64_t kDequeCapacity = 256;
constexpr std::uint32_t kPrefetchDistance = 8;
// 100 us are some fifty switches or more. They pay for the cache misses that a change of chains costs.
constexpr std::uint64_t kShortestTurnUs = 100;

// In ticks. `waiting`: how many wait behind the chain.
std::uint64_t turn_length(std::uint64_t waiting) noexcept {
  const auto slice_us = static_cast<std::uint64_t>(sched::settings.slice_ns / 1000);
  return os::us_to_ticks(std::max(slice_us / (1 + waiting), kShortestTurnUs));
}

}  // namespace

struct Classic::Queues {
  // --- owner ---
  Turn turn;
  // Picks until the oldest record runs. At every fourth pick the records come first.
  std::uint32_t until_oldest = sched::kTurnLimit;
  // --- owner and thieves ---
  sched::RunQueue<Runnable, kRingCapacity> started;
  sched::RecordDeque<Runnable, kDequeCapacity> records;

  std::uint32_t size() const noexcept { return started.size() + static_cast<std::uint32_t>(records.size()); }

  Place push(Processor& p, Runnable runnable) noexcept {
    if (!runnable.is_record()) return push_in_order(p, runnable);
    return WEFT_LIKELY(records.push(runnable)) ? Place::kOffered : overflow_records(p, runnable);
  }
  Place push_in_order(Processor& p, Runnable runnable) noexcept {
    return WEFT_LIKELY(started.push(runnable)) ? Place::kOffered : overflow_started(p, runnable);
  }

  // For tests and comparisons. Spawned goroutines go to the back (spawn_at_back), or half of all goroutines, at random,
  // do not go to the slot (random_schedule).
  __attribute__((noinline)) Place ready_as_tests_want(Processor& p, Runnable runnable, Why why) noexcept {
    if (sched::settings.spawn_at_back && why == Why::kSpawn) return push_in_order(p, runnable);
    if (sched::settings.random_schedule && (p.random.next() & 1) != 0) return push(p, runnable);
    const Runnable displaced = p.slot.replace(runnable);
    return displaced ? push(p, displaced) : Place::kNext;
  }

  // The slot was not empty at the last look.
  __attribute__((noinline)) Pick next_of_chain(Processor& p) noexcept {
    const Runnable slotted = p.slot.take();
    if (!slotted) return next_of_queues(p);  // a thief has taken it
    if (p.slot_runs == sched::kSlotFillsOnly) {
      const std::uint32_t waiting = size();
      p.slot_runs += waiting == 0 ? turn.go_on_alone() : turn.go_on(os::ticks(), turn_length(waiting));
      if (p.slot_runs == sched::kSlotFillsOnly) {  // its turn is over
        push(p, slotted);
        return next_of_queues(p);
      }
    }
    --p.slot_runs;
    return {slotted};
  }

  // For tests. With random_schedule, everything that waits here is equally probable. The slot gets no grant, so that
  // the mechanism never takes from it without asking the policy.
  __attribute__((noinline)) Pick next_as_tests_want(Processor& p) noexcept {
    if (sched::settings.random_schedule) return {any_of_all(p)};
    return p.slot.look() ? next_of_chain(p) : next_of_queues(p);
  }

  // Thieves may take what was counted. Then what is found first comes next.
  Runnable any_of_all(Processor& p) noexcept {
    p.slot_runs = 0;
    const std::uint32_t in_ring = started.size(), in_slot = p.slot.look() ? 1 : 0;
    const std::uint32_t waiting = size() + in_slot;
    if (waiting == 0) return Runnable();
    const std::uint32_t chosen = p.random.below(waiting);
    Runnable found;
    if (chosen < in_ring) {
      found = nth_started(p, chosen);
    } else if (chosen < in_ring + in_slot) {
      found = p.slot.take();
    } else {
      found = nth_record(p, chosen - in_ring - in_slot);
    }
    if (!found) found = p.slot.take();
    if (!found) found = started.pop();
    return found ? found : records.pop();
  }
  Runnable nth_started(Processor& p, std::uint32_t n) noexcept {
    for (; n > 0; --n)
      if (const Runnable before = started.pop()) push_in_order(p, before);
    return started.pop();
  }
  Runnable nth_record(Processor& p, std::uint32_t n) noexcept {
    Runnable after[kDequeCapacity];
    std::uint32_t count = 0;
    while (count < n && (after[count] = records.pop())) ++count;
    const Runnable found = records.pop();
    while (count > 0) push(p, after[--count]);
    return found;
  }

  // Calls no function, because it is the path of every yield. `yielding`, if any, goes behind the started goroutines
  // when the first of them is taken.
  __attribute__((always_inline)) Pick next_of_queues(Processor& p, Runnable yielding = Runnable()) noexcept {
    p.slot_runs = sched::kSlotFillsOnly + turn.begin();
    if (WEFT_UNLIKELY((--until_oldest & 3) == 0)) {
      if (until_oldest == 0) {
        until_oldest = p.turn_interval;
        if (const Runnable oldest = records.steal()) return {oldest};  // in pure LIFO order it would starve
      }
      if (const Runnable record = records.pop()) return {record};
    }
    prefetch_following();
    bool exchanged = false;
    const Runnable next = yielding ? started.exchange(yielding, exchanged) : started.pop();
    if (next || exchanged) return {.what = next, .exchanged = exchanged};
    return {records.pop()};
  }

  // Prefetches the G of a goroutine that runs soon. With many goroutines, its G and the end of its stack are in no
  // cache.
  void prefetch_following() const noexcept {
    if (const Runnable following = started.peek(kPrefetchDistance)) __builtin_prefetch(following.goroutine());
  }

 private:
  __attribute__((noinline)) Place overflow_started(Processor& p, Runnable extra) noexcept {
    Runnable moved[kRingCapacity / 2 + 1];
    std::uint32_t count = started.pop_half(moved, kRingCapacity / 2);
    moved[count++] = extra;
    p.counters.bump(Counter::kOverflows);
    scheduler.inject.push_bundle(moved, count);
    return Place::kOffered;
  }
  __attribute__((noinline)) Place overflow_records(Processor& p, Runnable extra) noexcept {
    do {
      Runnable moved[kDequeCapacity / 2];
      const std::int64_t count = records.take_half_for_overflow(moved);  // 0: a thief made room
      if (count > 0) p.counters.bump(Counter::kOverflows);
      scheduler.inject.push_bundle(moved, static_cast<std::uint32_t>(count));
    } while (!records.push(extra));
    return Place::kOffered;
  }
};

inline Classic::Queues& Classic::of(const Processor& p) const noexcept { return *queues_[p.id]; }
inline Classic::Queues& Classic::own(Processor& p) noexcept { return *static_cast<Queues*>(p.policy_state); }

bool Classic::attach(Processor& p) noexcept {
  varies_ = sched::settings.random_schedule || sched::settings.spawn_at_back;
  p.policy_state = queues_[p.id];
  if (p.policy_state != nullptr) return true;
  // Mapped, not from the heap, because it lives as long as the process, and because TSan takes heap memory for written
  // by the thread that allocated it.
  void* memory = os::reserve_permanent_memory(sizeof(Queues), "weft queues");
  if (memory == nullptr) return false;
  p.policy_state = queues_[p.id] = new (memory) Queues;
  return true;
}

namespace {

// A preempted goroutine goes to the global queue. On its own P it would be found again before the work in the global
// queue.
__attribute__((noinline)) Place send_behind_all(Runnable runnable) noexcept {
  scheduler.inject.push(runnable);
  return Place::kOffered;
}

}  // namespace

// All calls are tail calls, so that the usual paths need no stack frame.
Place Classic::ready(Processor& p, Runnable runnable, Why why, Known known) noexcept {
  Queues& queues = own(p);
  if (is_for_slot(why, known)) {
    if (WEFT_UNLIKELY(varies_)) return queues.ready_as_tests_want(p, runnable, why);
    if (known == Known::kWakerGoesOn) return queues.push(p, runnable);
    if (!p.slot.look()) {  // stays empty: thieves only take from it
      p.slot.put(runnable);
      return Place::kNext;
    }
    runnable = p.slot.replace(runnable);
    return runnable ? queues.push(p, runnable) : Place::kNext;
  }
  if (WEFT_UNLIKELY(why == Why::kPreempted)) return send_behind_all(runnable);
  // Sleepers, and the work that takes turns with them, run in the order of arrival, started or not.
  return why == Why::kTimer ? queues.push_in_order(p, runnable) : queues.push(p, runnable);
}

Pick Classic::next(Processor& p, Runnable due) noexcept {
  if (WEFT_UNLIKELY(due)) return {due};
  Queues& queues = own(p);
  if (WEFT_UNLIKELY(varies_)) return queues.next_as_tests_want(p);
  return p.slot.look() ? queues.next_of_chain(p) : queues.next_of_queues(p);
}

namespace {

template <class Queues>
Runnable steal_started(Processor& thief, Queues& own, Queues& victim) noexcept {
  Runnable taken[kRingCapacity / 2];
  const std::uint32_t count = victim.started.pop_half(taken, kRingCapacity / 2);
  if (count == 0) return Runnable();
  for (std::uint32_t i = 1; i < count; ++i) own.push(thief, taken[i]);
  thief.counters.bump(Counter::kGoroutinesStolen, count);
  return taken[0];
}

template <class Queues>
Runnable steal_records(Processor& thief, Queues& own, Queues& victim) noexcept {
  const std::int64_t half = std::min<std::int64_t>(victim.records.size() / 2, kDequeCapacity / 2 - 1);
  const Runnable first = victim.records.steal();
  if (!first) return first;
  std::uint64_t count = 1;
  for (std::int64_t i = 0; i < half; ++i) {
    const Runnable more = victim.records.steal();
    if (!more) break;
    own.push(thief, more);
    ++count;
  }
  thief.counters.bump(Counter::kGoroutinesStolen, count);
  return first;
}

}  // namespace

Pick Classic::exchange(Processor& p, Runnable yielding) noexcept {
  Queues& queues = own(p);
  if (WEFT_UNLIKELY(varies_)) return queues.next_as_tests_want(p);
  return p.slot.look() ? queues.next_of_chain(p) : queues.next_of_queues(p, yielding);
}

sched::Theft Classic::steal(Processor& thief, sched::Effort, const std::uint32_t*) noexcept {
  sched::VictimOrder order(sched::maxprocs(), thief.random.next());
  for (std::uint32_t victim; order.next(victim);) {
    if (victim == thief.id) continue;
    if (const Runnable stolen = steal_started(thief, own(thief), *queues_[victim])) return {stolen};
    if (const Runnable stolen = steal_records(thief, own(thief), *queues_[victim])) return {stolen};
  }
  return {};
}

bool Classic::offers(const Processor* except) const noexcept {
  for (std::uint32_t i = 0; i < sched::maxprocs(); ++i) {
    if (except != nullptr && i == except->id) continue;
    if (!queues_[i]->started.empty() || !queues_[i]->records.empty()) return true;
  }
  return false;
}

sched::Load Classic::load(const Processor& p) const noexcept {
  const Queues& queues = of(p);
  if (queues.started.empty() && queues.records.empty()) return {};  // the usual answer, found quickly
  return {.offered = queues.size()};
}

std::uint32_t Classic::room(const Processor& p) const noexcept {
  return kRingCapacity - std::min(of(p).size(), kRingCapacity);
}

void Classic::visit(const Processor& p, sched::Visitor visitor) const noexcept {
  const Queues& queues = of(p);
  for (std::uint32_t n = 0; n < queues.started.size(); ++n) visitor(queues.started.peek(n));
  for (std::int64_t n = 0; n < queues.records.size(); ++n) visitor(queues.records.look(n));
}

void Classic::drain(Processor& p, sched::RunnableList& out) noexcept {
  Queues& queues = of(p);
  while (const Runnable started = queues.started.pop()) out.push(started);
  while (const Runnable record = queues.records.steal()) out.push(record);  // oldest first
}

}  // namespace weft::policy
