// SPDX-License-Identifier: MIT
#include "sched/core/own_work.h"

#include "os/clock.h"
#include "sched/core/arrivals.h"
#include "sched/core/next_run.h"
#include "sched/state/network_watch.h"
#include "sched/state/next_timer.h"
#include "sched/state/processor_work.h"

namespace weft::sched {

Runnable take_own(Processor& p) noexcept {
  take_inbox_in(p);
  p.tick.bump();
  return next_run(p);
}

Runnable take_idle_priority(Processor& p) noexcept {
  if (scheduler.idle_priority.empty()) return Runnable();
  const Runnable found = scheduler.idle_priority.pop();
  if (found) p.counters.bump(Counter::kIdleRuns);
  return found;
}

bool run_due_timers(Processor& p) noexcept {
  const std::int64_t next = next_timer_ns();
  if (next == TimerHeap::kNever) return false;
  const std::int64_t now = os::now_ns();
  if (next > now) return false;
  const bool had_work = has_work(p);
  DueSleepers sleepers;
  std::uint32_t fired = 0;
  for (std::uint32_t i = 0, n = maxprocs(); i < n && fired < TimerHeap::kBatch; ++i) {
    Processor& owner = *scheduler.processors[(p.id + i) % n];
    fired += owner.timers.run_due(now, true, sleepers, TimerHeap::kBatch - fired);
  }
  p.counters.bump(Counter::kTimersFired, fired);
  const bool only_sleepers = sleepers.count == fired;  // callbacks may have made anything runnable
  const bool brief = place_sleepers(p, sleepers);
  if (!brief) wake_for_queued_work(&p);
  return brief && only_sleepers && !had_work;
}

bool take_over(Processor& p, RunnableList& ready) noexcept {
  if (ready.empty()) return false;
  ready_all(p, ready, Why::kNetwork);
  return true;
}

bool poll_network(Processor& p) noexcept {
  if (WEFT_LIKELY(scheduler.network.waiting.load_relaxed() == 0))
    return false;  // a goroutine that begins to wait now looks itself
  RunnableList ready;
  look_at_network(ready);
  const std::size_t count = ready.size();
  if (!take_over(p, ready)) return false;
  if (count > 1) wake_for_queued_work(&p);
  return true;
}

}  // namespace weft::sched
