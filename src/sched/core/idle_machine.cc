// SPDX-License-Identifier: MIT
#include "sched/core/idle_machine.h"

#include <mutex>

#include "base/delay_site.h"
#include "os/clock.h"
#include "sched/core/arrivals.h"
#include "sched/core/machine_sleep.h"
#include "sched/core/machines.h"
#include "sched/core/own_work.h"
#include "sched/model/hooks.h"
#include "sched/state/next_timer.h"
#include "sched/state/processor_work.h"

namespace weft::sched {
namespace {

constexpr std::int64_t kIdleThreadExitNs = 10'000'000'000;

// Takes an idle P for the M, which is on the idle list. False: no P is idle, or the M has been given one already.
bool come_back(Machine& m) noexcept {
  std::lock_guard guard(scheduler.machines_lock);
  if (!m.idle) return false;
  const std::int32_t index = maxprocs() > 1 ? scheduler.idle.pop_spinning() : scheduler.idle.pop();
  if (index < 0) return false;
  remove_idle_machine_locked(m);
  m.spinning = maxprocs() > 1;
  acquire_processor(m, *scheduler.processors[index]);
  return true;
}

// One M without a P sleeps until the next timer. False: no timers, or another M does.
bool become_poller(Machine& m, TimerWake& timers) noexcept {
  if (next_timer_ns() == TimerHeap::kNever) return false;  // the thread that adds the first one wakes an M
  Machine* nobody = nullptr;
  if (!scheduler.poller.m.cas_acq_rel(nobody, &m)) return false;  // pairs: watcher.deadline
  scheduler.poller.until_ns.store_relaxed(TimerHeap::kNever);     // until we have looked, every new timer interrupts
  base::full_fence();                                             // pairs: watcher.deadline
  timers = next_timer_wake();
  scheduler.poller.until_ns.store_relaxed(timers.interrupted_before_ns);
  WEFT_DELAY_SITE("poller.before_sleep");
  return true;
}

// N1 (some M watches descriptors): an M without a P blocks in the netpoller if no P is busy, or if no spinner sees to
// it.
bool should_watch_network() noexcept {
  if (scheduler.network.registered.load_relaxed() == 0)
    return false;  // read after retire()'s fence, which pairs with that of network_registered()
  const IdleView view = scheduler.idle.look();
  return view.idle() == maxprocs() || (view.idle() > 0 && view.spinning() == 0);
}

// True: there are more idle threads than idle Ps, and this M, which has slept for long in vain, ends.
bool leave_if_surplus(Machine& m) noexcept {
  std::lock_guard guard(scheduler.machines_lock);
  if (!m.idle || scheduler.idle_machine_count <= scheduler.idle.look().idle()) return false;
  remove_idle_machine_locked(m);
  return true;
}

}  // namespace

bool retire(Machine& m, bool apart) noexcept {
  Processor& p = *m.p;
  {
    // The M is on the idle list before another thread can take its P: the thread that pops the P finds the M under this
    // lock.
    std::lock_guard guard(scheduler.machines_lock);
    if (p.attention.load_relaxed() != 0) return false;
    release_processor(m);
    if (!scheduler.idle.push(p.id, m.spinning, maxprocs())) {  // W2: the last spinner stays beside a busy P
      acquire_processor(m, p);
      return false;
    }
    add_idle_machine_locked(m);
    m.spinning = false;
  }
  WEFT_DELAY_SITE("retire.before_recheck");
  base::full_fence();  // pairs: submit.retire
  const bool leaves_work_alone = (apart || m.thief.suppressed()) && scheduler.idle.look().spinning() > 0;
  if (!leaves_work_alone && work_exists(nullptr) && come_back(m)) return false;
  WEFT_DELAY_SITE("retire.before_sleep");
  return true;
}

bool wait_for_processor(Machine& m) noexcept {
  {
    std::lock_guard guard(scheduler.machines_lock);
    if (!m.idle && m.next_p.load_relaxed() == nullptr) add_idle_machine_locked(m);
  }
  if (scheduler.idle.look().idle() == maxprocs()) hooks.all_idle();
  bool may_poll = true;
  for (;;) {
    if (Processor* p = m.next_p.load_acquire()) {  // pairs: machine.next_p
      accept_processor(m, *p);
      return true;
    }
    if (WEFT_UNLIKELY(scheduler.starvation.on())) scheduler.starvation.visit();
    TimerWake timers{};
    const bool polls = may_poll && become_poller(m, timers);
    const std::int64_t exit_at = os::now_ns() + kIdleThreadExitNs;
    const bool for_timer = polls && timers.at_ns <= exit_at;
    scheduler.shared_counters.add(Counter::kParks);
    RunnableList ready;
    const bool watches = should_watch_network();
    RunnableList* watched = watches ? &ready : nullptr;
    const bool rung = for_timer ? wait_for_timer(m, timers, watched) : wait_for_bell(m, exit_at, watched);
    if (polls) scheduler.poller.m.store_release(nullptr);  // pairs: watcher.deadline
    if (!ready.empty()) {
      if (m.next_p.load_acquire() == nullptr && come_back(m)) {  // pairs: machine.next_p
        take_over(*m.p, ready);
        return true;
      }
      inject(ready);
    }
    if (m.next_p.load_acquire() != nullptr) continue;  // pairs: machine.next_p
    if (polls && next_timer_ns() <= os::now_ns()) {
      if (come_back(m)) return true;
      // Every P is in use. Its owner runs the timers at its next dispatch, or the passive spinner does now. To go on
      // waiting for overdue timers would be busy waiting. The next M that gives its P up becomes the poller.
      may_poll = false;
      wake_passive(nullptr);
    } else if (!rung && !polls && !watches && leave_if_surplus(m)) {
      return false;
    }
  }
}

}  // namespace weft::sched
