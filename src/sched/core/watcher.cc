// SPDX-License-Identifier: MIT
#include "sched/timer_watch.h"

#include "base/delay_site.h"
#include "sched/machines.h"

namespace weft::sched {

std::int64_t next_timer_ns() noexcept {
  std::int64_t next = TimerHeap::kNever;
  for (std::uint32_t i = 0; i < maxprocs(); ++i) {
    const std::int64_t candidate = scheduler.processors[i]->timers.next_ns();
    if (candidate < next) next = candidate;
  }
  return next;
}

namespace {

bool timers_are_many() noexcept {
  constexpr std::size_t kMany = 32;
  for (std::uint32_t i = 0; i < maxprocs(); ++i)
    if (scheduler.processors[i]->timers.size() >= kMany) return true;
  return false;
}

}  // namespace

TimerWake next_timer_wake() noexcept {
  const std::int64_t next = next_timer_ns();
  if (next >= TimerHeap::kNever - 3 * WakePlan::kWindowNs || !timers_are_many()) return {next, next, TimerHeap::kNever};
  WakePlan plan(next);
  for (std::uint32_t i = 0; i < maxprocs(); ++i) scheduler.processors[i]->timers.join(plan);
  return plan.make();
}

namespace {

// After a full fence. The poller, if there is one.
const Machine* wake_watchers_before(std::int64_t when_ns) noexcept {
  if (scheduler.passive.m.load_relaxed() != nullptr && when_ns < scheduler.passive.until_ns.load_relaxed())
    wake_passive(os::current_p());
  Machine* poller = scheduler.poller.m.load_acquire();  // pairs: watcher.deadline
  if (poller != nullptr && when_ns < scheduler.poller.until_ns.load_relaxed()) signal_machine(*poller);
  return poller;
}

}  // namespace

void timer_added(std::int64_t when_ns) noexcept {
  WEFT_DELAY_SITE("timer.added");
  const bool has_processor = os::current_p() != nullptr;
  if (has_processor && when_ns > scheduler.far_from_ns.load_relaxed()) return;
  base::full_fence();  // pairs: watcher.deadline
  const Machine* poller = wake_watchers_before(when_ns);
  if (has_processor) return;
  // A plain thread's timer: with every P idle nobody may be watching yet.
  const IdleView view = scheduler.idle.look();
  if (poller == nullptr && view.idle() > 0 && view.spinning() == 0) wake_one(nullptr);
}

void remind_watchers(std::int64_t until_ns) noexcept {
  base::full_fence();  // pairs: watcher.deadline
  const std::int64_t next = next_timer_ns();
  if (next != TimerHeap::kNever && next <= until_ns) wake_watchers_before(next);
}

}  // namespace weft::sched
