// SPDX-License-Identifier: MIT
#include "sched/core/left_behind.h"

#include "sched/queue/victim_order.h"
#include "sched/state/processor_work.h"

namespace weft::sched {

Runnable take_from_inboxes(Processor& thief) noexcept {
  for (std::uint32_t i = 0; i < maxprocs(); ++i) {
    Processor& victim = *scheduler.processors[i];
    if (i == thief.id || WEFT_LIKELY(victim.inbox.empty())) continue;
    RunnableList given = take_inbox(victim);
    const Runnable first = given.pop();
    ready_all(thief, given, Why::kReturned);
    if (first) return first;
  }
  return Runnable();
}

Runnable take_from_aged_slots(Processor& thief, const std::uint32_t* seen_ticks) noexcept {
  VictimOrder order(maxprocs(), thief.random.next());
  for (std::uint32_t id; order.next(id);) {
    if (id == thief.id) continue;
    Processor& victim = *scheduler.processors[id];
    const auto is_aged = [&] { return victim.slot.look() && victim.tick.load_relaxed() == seen_ticks[id]; };
    if (!is_aged()) continue;
    const Runnable taken = victim.slot.rob(is_aged);
    if (!taken) continue;
    victim.watch.fetch_or_relaxed(kWatchCaughtAged);  // its goroutine computes on after waking another
    thief.counters.bump(Counter::kGoroutinesStolen);
    thief.counters.bump(Counter::kSlotsStolen);
    return taken;
  }
  return Runnable();
}

}  // namespace weft::sched
