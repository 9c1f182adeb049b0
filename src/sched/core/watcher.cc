// SPDX-License-Identifier: MIT
#include "sched/core/watcher.h"

#include "base/delay_site.h"
#include "sched/core/machines.h"
#include "sched/state/network_watch.h"
#include "sched/state/next_timer.h"

namespace weft::sched {

namespace {

// Called after a full fence. Wakes the watchers that would sleep past when_ns. Returns the poller, if there is one.
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
  // A plain thread's timer: if every P is idle, it may be that no M watches yet.
  const IdleView view = scheduler.idle.look();
  if (poller == nullptr && view.idle() > 0 && view.spinning() == 0) wake_one(nullptr);
}

void network_registered() noexcept {
  base::full_fence();  // pairs: submit.retire
  const IdleView view = scheduler.idle.look();
  if (view.idle() > 0 && view.spinning() == 0 && network_unwatched_for(0)) wake_one(os::current_p());
}

void remind_watchers(std::int64_t until_ns) noexcept {
  base::full_fence();  // pairs: watcher.deadline
  const std::int64_t next = next_timer_ns();
  if (next != TimerHeap::kNever && next <= until_ns) wake_watchers_before(next);
}

}  // namespace weft::sched
