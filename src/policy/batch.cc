// SPDX-License-Identifier: MIT
#include "policy/batch.h"

#include <new>

#include "os/current.h"
#include "os/memory.h"
#include "policy/batch_queues.h"
#include "policy/slot_rule.h"
#include "sched/queue/victim_order.h"
#include "sched/state/batch_members.h"

namespace weft::policy {

using sched::Goroutine;
using sched::Known;
using sched::Pick;
using sched::Place;
using sched::Processor;
using sched::Runnable;
using sched::RunnableList;
using sched::scheduler;
using sched::Why;

class Batch::Queues : public BatchQueues {};

inline Batch::Queues& Batch::of(const Processor& p) const noexcept { return *queues_[p.id]; }
inline Batch::Queues& Batch::own(Processor& p) noexcept { return *static_cast<Queues*>(p.policy_state); }

bool Batch::attach(Processor& p) noexcept {
  p.policy_state = queues_[p.id];
  if (p.policy_state != nullptr) return true;
  void* memory = os::reserve_permanent_memory(sizeof(Queues), "weft queues");  // mapped: see Classic::attach()
  if (memory == nullptr) return false;
  p.policy_state = queues_[p.id] = new (memory) Queues;
  return true;
}

namespace {

// With these settings, for tests and comparisons, some goroutines that would go to the slot go to the end.
bool goes_to_end(Processor& p, Why why) noexcept {
  if (sched::settings.spawn_at_back && why == Why::kSpawn) return true;
  return sched::settings.random_schedule && (p.random.next() & 1) != 0;
}

// A goroutine of this P has woken it.
void note_wake(Processor& p, Runnable woken, std::uint32_t wakes) noexcept {
  Goroutine* const waker = os::current_g();
  if (waker != nullptr && !woken.is_record()) sched::batch_members.met(p, waker, woken.goroutine(), wakes);
}

// True: a timer has come, in the middle of a switch. Then the current goroutine, which leaves, is not the waker.
bool is_between_goroutines() noexcept {
  const Goroutine* g = os::current_g();
  return g != nullptr && g->status.load_relaxed() != sched::GStatus::kRunning;
}

// A preempted goroutine computes: it has no batch any more, and goes behind all others.
__attribute__((noinline)) Place send_away(Runnable runnable) noexcept {
  if (!runnable.is_record()) sched::batch_members.leave(runnable.goroutine());
  scheduler.inject.push(runnable);
  return Place::kOffered;
}

}  // namespace

Place Batch::ready(Processor& p, Runnable runnable, Why why, Known known) noexcept {
  Queues& queues = own(p);
  if (why == Why::kWake || why == Why::kUnlock) {
    queues.saw_wake();
    if (!is_between_goroutines()) note_wake(p, runnable, 1);
  }
  if (is_for_slot(why, known)) {
    if (known == Known::kWakerGoesOn) return queues.push_alone(p, runnable);
    if (WEFT_UNLIKELY(sched::settings.random_schedule || sched::settings.spawn_at_back) && goes_to_end(p, why)) {
      return queues.arrive_all(p, &runnable, 1);
    }
    if (sched::settings.kroc_batches) return queues.join(p, runnable);
    const Runnable displaced = p.slot.replace(runnable);
    return displaced ? queues.join(p, displaced) : Place::kNext;
  }
  if (why == Why::kPreempted) return send_away(runnable);
  if (why == Why::kYield) return queues.join(p, runnable);
  queues.arrive(runnable, why != Why::kTimer);
  return Place::kHidden;
}

Place Batch::ready_all(Processor& p, const Runnable* several, std::size_t count, Why) noexcept {
  return own(p).arrive_all(p, several, count);
}

Pick Batch::next(Processor& p, Runnable due) noexcept {
  Queues& queues = own(p);
  queues.count_dispatches(p);
  if (WEFT_UNLIKELY(due)) return {.what = due};
  bool from_slot = false;
  const Pick pick = queues.next(p, from_slot);
  const std::uint32_t unseen = queues.take_unseen_wakes();
  if (from_slot && unseen != 0) note_wake(p, pick.what, unseen);  // it stands for those before it
  return pick;
}

namespace {

// The first P that hides work and has not moved for long: the mechanism asks it to give way.
template <class Queues>
Processor* find_stuck(const Processor& thief, Queues& own, Queues* const* queues, const std::uint32_t* seen) noexcept {
  for (std::uint32_t i = 0; i < sched::maxprocs(); ++i) {
    Processor& victim = *scheduler.processors[i];
    if (i == thief.id || queues[i]->load().hidden == 0 || victim.status() != sched::PStatus::kRunning) continue;
    if (victim.tick.load_relaxed() != seen[i]) continue;
    return own.is_stuck(victim, seen[i]) ? &victim : nullptr;
  }
  return nullptr;
}

}  // namespace

sched::Theft Batch::steal(Processor& thief, sched::Effort effort, const std::uint32_t* seen_ticks) noexcept {
  Queues& queues = own(thief);
  sched::VictimOrder order(sched::maxprocs(), thief.random.next());
  for (std::uint32_t victim; order.next(victim);)
    if (victim != thief.id)
      if (const Runnable stolen = queues.steal_from(thief, *queues_[victim])) return {.what = stolen};
  if (effort != sched::Effort::kDesperate) return {};
  return {.what = Runnable(), .ask = find_stuck(thief, queues, queues_, seen_ticks)};
}

bool Batch::offers(const Processor* except) const noexcept {
  for (std::uint32_t i = 0; i < sched::maxprocs(); ++i)
    if ((except == nullptr || i != except->id) && queues_[i]->offers()) return true;
  return false;
}

sched::Load Batch::load(const Processor& p) const noexcept { return of(p).load(); }
std::uint32_t Batch::room(const Processor&) const noexcept { return UINT32_MAX / 2; }
void Batch::visit(const Processor& p, sched::Visitor visitor) const noexcept { of(p).visit(visitor); }
void Batch::drain(Processor& p, RunnableList& out) noexcept { of(p).drain(out); }

}  // namespace weft::policy
