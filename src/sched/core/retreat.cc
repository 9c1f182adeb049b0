// SPDX-License-Identifier: MIT
#include "sched/core/retreat.h"

#include "os/clock.h"
#include "sched/bias/machine_owners.h"
#include "sched/bias/meeting.h"
#include "sched/core/arrivals.h"
#include "sched/core/machines.h"
#include "sched/model/hooks.h"
#include "sched/queue/victim_order.h"
#include "sched/state/processor_work.h"
#include "sched/state/scheduler.h"

namespace weft::sched {
namespace {

constexpr std::int64_t kShortNs = 200'000;  // length of the retreats that tests ask for (Retreats::kAlways)

// True: every window has lost too much for kBeforeNs, so it is known how much gets done with this P.
bool is_suspected_for_long(Processor& p, std::int64_t now) noexcept {
  if (now < scheduler.no_retreat_before_ns.load_relaxed()) return false;  // trials have been wrong of late
  if (p.sharing.suspected_ns() == 0) p.sharing.suspect(now, MachineOwners::uses_of_all());
  return now - p.sharing.suspected_ns() >= RetreatTrial::kBeforeNs;
}

__attribute__((noinline)) void judge(Processor& p) noexcept {
  const std::int64_t now = os::now_ns();
  const bool loses = p.sharing.judge(now, p.retreat.was_just_on(now));
  if (settings.retreats == Retreats::kNever) return;
  if (maxprocs() == 1 || !policy().keeps_work_on_processors()) return;
  const bool always = settings.retreats == Retreats::kAlways;
  if (always || (loses && is_suspected_for_long(p, now)))
    p.attention.fetch_or_acq_rel(kAttentionRetreat);  // pairs: attention
}

// False: p is not suspected any more, or another P's retreat is being judged.
bool begin_trial(Processor& p, std::int64_t now) noexcept {
  Processor* none = nullptr;
  if (p.sharing.suspected_ns() == 0) return false;
  p.retreat.before = {MachineOwners::uses_of_all() - p.sharing.uses_then(), now - p.sharing.suspected_ns()};
  p.sharing.forget();
  if (!scheduler.retreat_on_trial.cas_acq_rel(none, &p)) return false;  // pairs: retreat.trial
  hooks.poke_sysmon();
  return true;
}

// A P that runs goroutines and has not retreated itself; null: none. A hint: a P that goes idle meanwhile is found by
// the look that follows.
Processor* choose_host(const Processor& p, std::int64_t now, std::uint64_t random) noexcept {
  VictimOrder order(maxprocs(), random);
  for (std::uint32_t id; order.next(id);) {
    Processor& other = *scheduler.processors[id];
    if (&other != &p && other.status() == PStatus::kRunning && !other.retreat.is_on(now)) return &other;
  }
  return nullptr;
}

// This thread has used a lock that another M used last. Cheap. If that happens too often, its P is asked to retreat.
void on_meeting() noexcept {
  Processor* p = os::current_p();
  if (p != nullptr && WEFT_UNLIKELY(p->sharing.meet())) judge(*p);
}

// This thread has waited for another thread's lock, since then (ticks).
void on_wait(std::uint64_t since) noexcept {
  Processor* p = os::current_p();
  const std::uint64_t ns = (os::ticks() - since) * 1000 / os::ticks_per_us();
  if (p != nullptr && p->sharing.lose(static_cast<std::int64_t>(ns))) judge(*p);
}

}  // namespace

void watch_meetings() noexcept {
  static constexpr MeetingWatch kWatch{on_meeting, on_wait};
  meeting_watch = &kWatch;
}

void retreat(Processor& p) noexcept {
  const IdleView view = scheduler.idle.look();
  if (view.idle() + view.spinning() + 1 >= maxprocs()) return;  // no other P runs anything
  const std::int64_t now = os::now_ns();
  Processor* host = choose_host(p, now, p.random.next());
  if (host == nullptr) return;
  const bool always = settings.retreats == Retreats::kAlways;
  if (!always && !begin_trial(p, now)) return;
  p.retreat.begin(now);
  if (always) p.retreat.end_at(now + kShortNs);
  p.counters.bump(Counter::kRetreats);
  RunnableList work;
  take_everything(p, work);
  if (work.empty()) return;
  while (const Runnable runnable = work.pop()) host->inbox.push(runnable);
  wake_for_queued_work(&p);  // the host may have gone idle: then another M looks, or we do (keeps_apart)
}

std::int64_t look_at_retreat(RetreatTrial& trial, std::int64_t now) noexcept {
  Processor* p = scheduler.retreat_on_trial.load_acquire();  // pairs: retreat.trial
  if (p == nullptr) return os::kForever;
  if (!trial.is_on()) trial.begin(now, p->retreat.before);
  const RetreatTrial::Verdict verdict = trial.look(now, MachineOwners::uses_of_all());
  if (verdict == RetreatTrial::Verdict::kNone) return trial.next_look_ns();
  if (verdict == RetreatTrial::Verdict::kWrong) {
    scheduler.no_retreat_before_ns.store_relaxed(now + trial.pause_ns());
    p->retreat.take_back(now);
    scheduler.passive_apart_ns.store_relaxed(0);  // p is called back
    wake_passive(nullptr);
  }
  scheduler.retreat_on_trial.store_release(nullptr);  // pairs: retreat.trial
  return os::kForever;
}

}  // namespace weft::sched
