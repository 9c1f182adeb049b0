// SPDX-License-Identifier: MIT
#include "sched/state/next_timer.h"

#include "sched/state/scheduler.h"

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

}  // namespace weft::sched
