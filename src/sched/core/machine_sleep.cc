// SPDX-License-Identifier: MIT
#include "sched/core/machine_sleep.h"

#include <sched.h>

#include "base/delay_site.h"
#include "os/affinity.h"
#include "os/clock.h"
#include "os/early_timer.h"
#include "sched/core/watcher.h"
#include "sched/model/machine.h"
#include "sched/state/scheduler.h"
#include "sched/timer/wake_lateness.h"
#include "sched/timer/wake_rhythm.h"

namespace weft::sched {
namespace {

constinit WakeLateness wake_lateness;
constinit WakeRhythm wake_rhythm;
constinit os::EarlyTimer early_timer;

// Sleeps in the netpoller. False: another M does. True: it did, and `rung` says whether a waker rang.
bool block_in_network(Machine& m, std::int64_t deadline_ns, RunnableList& ready, bool& rung) noexcept {
  NetworkWatch& network = scheduler.network;
  Machine* nobody = nullptr;
  if (!network.blocked.cas_acq_rel(nobody, &m)) return false;  // pairs: network.blocked
  WEFT_DELAY_SITE("network.before_block");
  if (m.note.begin_elsewhere()) {
    network.source.load_acquire()->wait(deadline_ns, ready);  // pairs: network.source
    rung = m.note.end_elsewhere();
    network.looked_at_ns.store_relaxed(os::now_ns());
  } else {
    rung = true;
  }
  network.blocked.store_release(nullptr);  // pairs: network.blocked
  return true;
}

// Ends the time in which wakers may place us. A waker that is placing us now is done in microseconds, unless the system
// keeps it from running; a P may wait for us meanwhile. So we wait for that waker, but no longer than kPatienceNs,
// which no machine that is merely busy takes.
// Known gap: after that, the late waker may confine us to few CPUs for a moment, until it undoes that. What we start in
// that moment inherits the narrow CPU mask for good.
void end_placement(Machine& m) noexcept {
  constexpr std::int64_t kPatienceNs = 50'000'000;
  std::int64_t patient_until_ns = 0;
  Placement seen = Placement::kAsleep;
  while (seen != Placement::kAwake && !m.placement.cas_acquire(seen, Placement::kAwake)) {  // pairs: placement
    if (seen != Placement::kPlacing) continue;
    const std::int64_t now = os::now_ns();
    if (patient_until_ns == 0) patient_until_ns = now + kPatienceNs;
    if (now >= patient_until_ns) continue;  // the waker will find that it has to undo its work itself
    sched_yield();
    seen = Placement::kAsleep;
  }
  if (seen == Placement::kPlaced) os::return_to_all_cpus();
}

}  // namespace

bool wait_for_bell(Machine& m, std::int64_t deadline_ns, RunnableList* ready) noexcept {
  m.slept_on_cpu.store_relaxed(sched_getcpu());
  m.placement.store_release(Placement::kAsleep);  // pairs: placement
  bool rung = false;
  if (ready == nullptr || !block_in_network(m, deadline_ns, *ready, rung)) rung = m.note.wait(deadline_ns);
  end_placement(m);
  return rung;
}

void open_early_timers() noexcept {
  if (settings.early_timers.value_or(os::EarlyTimer::pays())) early_timer.open();
}

bool wait_for_timer(Machine& m, const TimerWake& timers, RunnableList* ready) noexcept {
  const std::int64_t due_ns = timers.at_ns, head_start = wake_lateness.head_start_ns();
  std::int64_t asked = due_ns - head_start;
  const bool sleeps = os::now_ns() < asked;
  if (sleeps && early_timer.is_free()) {
    const std::int64_t regular_ns = wake_rhythm.after(due_ns);
    const std::int64_t then_ns = timers.then_ns != TimerHeap::kNever ? timers.then_ns : regular_ns;
    if (then_ns != TimerHeap::kNever) asked = early_timer.set(asked, then_ns - head_start);
  }
  if (wait_for_bell(m, asked, ready)) return true;
  if (ready != nullptr && !ready->empty()) return false;
  std::int64_t now = os::now_ns();
  if (sleeps) wake_lateness.note(now - asked);
  for (; now < due_ns && due_ns - now <= WakeLateness::kMostNs; now = os::now_ns()) base::cpu_relax(8);
  return false;
}

}  // namespace weft::sched
