// SPDX-License-Identifier: MIT
#include "sched/core/search.h"

#include <sched.h>

#include "base/delay_site.h"
#include "os/clock.h"
#include "sched/core/arrivals.h"
#include "sched/core/attention.h"
#include "sched/core/idle_machine.h"
#include "sched/core/machines.h"
#include "sched/core/next_run.h"
#include "sched/core/own_work.h"
#include "sched/core/passive_watch.h"
#include "sched/core/theft.h"
#include "sched/state/apart.h"
#include "sched/state/processor_work.h"

namespace weft::sched {

namespace {

// While a thief waits for a barrier, what it has stolen does not run: that time does not count.
std::uint64_t ticks_outside_barriers(const Machine& m) noexcept { return os::ticks() - m.lock_owner.barrier_ticks; }

// Leaves the search with something to run. R3: the last spinner wakes its successor.
//   Brief work  (sleepers that do a little and sleep again) is not worth another thread, nor spinning after it: a
//               thousand of them would keep two cores busy with waking each other. If one of them computes this time,
//               sysmon finds the rest waiting beside an idle P. Other work is not left to sysmon. Threads that
//               submitted it while we counted as a spinner have woken no M, so we look for it after we have stopped
//               counting.
Runnable leave_with(Machine& m, Runnable found, bool stolen, bool brief = false) noexcept {
  m.thief.note_steal(stolen ? ticks_outside_barriers(m) : 0);
  m.brief = brief;
  if (m.spinning) {
    m.spinning = false;
    WEFT_DELAY_SITE("spinner.before_leaving");
    const IdleView before = scheduler.idle.stop_spinning();
    if (rule::needs_successor(before)) {
      base::full_fence();  // pairs: submit.retire
      if (!brief || work_exists(m.p)) wake_one(m.p);
    }
  }
  return found;
}

void judge_last_steal(Machine& m) noexcept {
  if (m.thief.wants_judgement()) m.thief.judge(ticks_outside_barriers(m), os::us_to_ticks(rule::kProductiveUs));
}

Runnable spin(Machine& m, Ticks& seen) noexcept {
  Processor& p = *m.p;
  p.counters.bump(Counter::kSpins);
  seen.read();
  const std::uint64_t start = os::ticks();
  const std::uint64_t limit = os::us_to_ticks(settings.spin_us), aged_after = os::us_to_ticks(rule::kAgedUs);
  std::uint64_t read_at = start;
  for (;;) {
    base::cpu_relax(8);
    if (scheduler.overcommitted.load_relaxed()) sched_yield();  // more Ps than CPUs: another thread may need this one
    if (p.attention.load_relaxed() != 0) return Runnable();
    if (const Runnable found = take_injected(p)) return found;
    const std::uint64_t now = os::ticks();
    const bool aged = now - read_at > aged_after;
    if (const Runnable stolen = steal(p, aged, &seen)) return stolen;
    if (aged) {
      read_at = now;
      seen.read();
    }
    if (now - start > limit) return Runnable();
  }
}

void note_spinning_maximum() noexcept {
  const std::uint32_t now = scheduler.idle.look().spinning();
  WEFT_DCHECK(now <= maxprocs(), "spinning Ms never outnumber Ps (S3)");
  if (now > scheduler.spinning_max.load_relaxed()) scheduler.spinning_max.store_relaxed(now);  // a statistic
}

}  // namespace

Runnable find_runnable(Machine& m) noexcept {
  Ticks seen;
  for (;;) {
    if (m.p == nullptr && !wait_for_processor(m)) return Runnable();
    if (m.handed) {
      const Runnable handed = m.handed;
      m.handed = Runnable();
      return leave_with(m, handed, false);
    }
    if (WEFT_UNLIKELY(scheduler.starvation.on())) scheduler.starvation.visit();
    Processor& p = *m.p;
    if (p.attention.load_relaxed() != 0 && !attend(m)) continue;  // the P may be gone
    const bool brief = run_due_timers(p);
    if (const Runnable local = take_own(p)) return leave_with(m, local, false, brief);
    const bool apart = keeps_apart(p);
    if (!settings.seed_search_order) {
      if (!apart)
        if (const Runnable injected = take_injected(p)) return leave_with(m, injected, false);
      if (poll_network(p))
        if (const Runnable local = next_run(p)) return leave_with(m, local, false);
    }
    if (maxprocs() > 1) {
      judge_last_steal(m);
      if (!apart && !m.thief.suppressed())
        if (const Runnable stolen = steal(p, false, nullptr)) return leave_with(m, stolen, true);
    }
    if (settings.seed_search_order) {
      if (!apart)
        if (const Runnable injected = take_injected(p)) return leave_with(m, injected, false);
      if (poll_network(p))
        if (const Runnable local = next_run(p)) return leave_with(m, local, false);
    }
    if (maxprocs() > 1 && WEFT_LIKELY(!settings.prompt_park)) {
      if (!m.spinning) m.spinning = scheduler.idle.try_start_spinning(maxprocs());
      if (m.spinning) {
        note_spinning_maximum();
        if (!apart && !m.thief.suppressed() && !m.brief && settings.spin_us > 0)
          if (const Runnable found = spin(m, seen)) return leave_with(m, found, true);
      }
    }
    if (const Runnable background = take_idle_priority(p)) return leave_with(m, background, false);
    if (PassiveWatch watch(m, seen); m.spinning && !settings.prompt_park && another_is_busy(p) && watch.claim()) {
      if (const Runnable found = watch.run()) return leave_with(m, found, true);
      continue;
    }
    if (retire(m, apart) && !wait_for_processor(m)) return Runnable();
  }
}

}  // namespace weft::sched
