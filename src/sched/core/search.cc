// SPDX-License-Identifier: MIT
#include "sched/core/search.h"

#include <sched.h>
#include <algorithm>
#include <mutex>

#include "base/delay_site.h"
#include "os/clock.h"
#include "sched/core/arrivals.h"
#include "sched/core/attention.h"
#include "sched/core/left_behind.h"
#include "sched/core/machine_sleep.h"
#include "sched/core/machines.h"
#include "sched/core/next_run.h"
#include "sched/core/preempt.h"
#include "sched/model/hooks.h"
#include "sched/state/apart.h"
#include "sched/state/network_watch.h"
#include "sched/state/next_timer.h"
#include "sched/state/processor_work.h"

namespace weft::sched {

namespace {

constexpr std::uint32_t kFruitlessLimit = 2;
constexpr std::uint32_t kFruitlessMax = 10;
constexpr std::uint32_t kMostSuppressions = 8;       // the longest takes 12.8 ms: 50 us doubled eight times
constexpr std::int64_t kSuppressedLookNs = 200'000;  // a suppressed M looks around so often
constexpr std::int64_t kApartLookNs = 1'000'000;     // the first pause of an M whose P has retreated
constexpr std::int64_t kForgottenNs = 10'000'000;    // so long after a suppression the next one is short again
constexpr std::int64_t kLeftAloneNs = 100'000;
constexpr std::uint64_t kAgedUs = 3;  // a slot whose P has not dispatched for so long may be robbed

struct Ticks {
  std::uint32_t at[kMaxProcessors];
  void read() noexcept {
    for (std::uint32_t i = 0; i < maxprocs(); ++i) at[i] = scheduler.processors[i]->tick.load_relaxed();
  }
};

// While a thief waits for a barrier, what it has stolen does not run: that time does not count.
std::uint64_t ticks_outside_barriers(const Machine& m) noexcept { return os::ticks() - m.lock_owner.barrier_ticks; }

bool suppressed(const Machine& m) noexcept { return m.fruitless >= kFruitlessLimit; }
void clear_suspicion(Machine& m) noexcept {
  m.fruitless = m.suppressions = 0;
  m.suppressed_until_ns = 0;
}

// Leaves the search with something to run. A22 (the last spinner makes another): if the last spinner finds work and a P
// is idle, another M starts to spin.
//   Brief work  (sleepers that do a little and sleep again) is not worth another thread, nor spinning after it: a
//               thousand of them would keep two cores busy with waking each other. If one of them computes this time,
//               sysmon finds the rest waiting beside an idle P. Other work is not left to sysmon. Threads that
//               submitted it while we counted as a spinner have woken no M, so we look for it after we have stopped
//               counting.
Runnable leave_with(Machine& m, Runnable found, bool stolen, bool brief = false) noexcept {
  m.stole_at = stolen ? ticks_outside_barriers(m) : 0;
  m.brief = brief;
  if (m.spinning) {
    m.spinning = false;
    WEFT_DELAY_SITE("spinner.before_leaving");
    const IdleView before = scheduler.idle.stop_spinning();
    if (before.spinning() == 1 && before.idle() > 0) {
      base::full_fence();  // pairs: submit.retire
      if (!brief || work_exists(m.p)) wake_one(m.p);
    }
  }
  return found;
}

void judge_last_steal(Machine& m) noexcept {
  if (m.stole_at == 0) return;
  const std::uint64_t busy = ticks_outside_barriers(m) - m.stole_at;
  m.stole_at = 0;
  if (busy >= os::us_to_ticks(settings.productive_us)) {
    clear_suspicion(m);
  } else if (m.fruitless < kFruitlessMax) {
    ++m.fruitless;
  }
}

// Runs due timers of all Ps, which make goroutines runnable on p. True: p has nothing but sleepers that will run
// briefly.
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

Runnable steal(Processor& p, bool desperate, const Ticks* seen) noexcept {
  p.counters.bump(Counter::kStealsTried);
  const Effort effort = desperate ? Effort::kDesperate : Effort::kUsual;
  const Theft theft = policy().steal(p, effort, seen != nullptr ? seen->at : nullptr);
  if (WEFT_UNLIKELY(theft.ask != nullptr)) request_preemption(*theft.ask);
  Runnable stolen = theft.what;
  if (!stolen) stolen = take_from_inboxes(p);
  if (!stolen && desperate) stolen = take_from_aged_slots(p, seen->at);
  if (stolen) p.counters.bump(Counter::kStealsWon);
  return stolen;
}

// Queues what is ready on p, in the order in which the kernel reported it. False: nothing is.
bool take_over(Processor& p, RunnableList& ready) noexcept {
  if (ready.empty()) return false;
  ready_all(p, ready, Why::kNetwork);
  return true;
}

// Looks at descriptors. True: goroutines that became runnable are in p's queue. Others are woken if there is more than
// one.
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

// Takes from what p has, and what other Ps have given to it (retreat.h).
Runnable take_own(Processor& p) noexcept {
  take_inbox_in(p);
  p.tick.bump();
  return next_run(p);
}

Runnable spin(Machine& m, Ticks& seen) noexcept {
  Processor& p = *m.p;
  p.counters.bump(Counter::kSpins);
  seen.read();
  const std::uint64_t start = os::ticks();
  const std::uint64_t limit = os::us_to_ticks(settings.spin_us), aged_after = os::us_to_ticks(kAgedUs);
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

Runnable take_idle_priority(Processor& p) noexcept {
  if (scheduler.idle_priority.empty()) return Runnable();
  const Runnable found = scheduler.idle_priority.pop();
  if (found) p.counters.bump(Counter::kIdleRuns);
  return found;
}

// --- passive spinning ---

bool another_is_busy(const Processor& p) noexcept {
  // No order, because the passive spinner looks again after each sleep.
  return scheduler.idle.look().idle() + 1 < maxprocs() && p.id < maxprocs();
}

// True: another P has not dispatched since the last look, with work waiting for it there or in the global queue.
bool sees_aged_work(const Processor& p, const Ticks& seen) noexcept {
  const bool injected = !scheduler.inject.empty();
  for (std::uint32_t i = 0; i < maxprocs(); ++i) {
    const Processor& other = *scheduler.processors[i];
    if (other.id != p.id && other.tick.load_relaxed() == seen.at[i] &&
        (injected || has_work(other)))
      return true;
  }
  return false;
}

// True: what waits on another P runs for longer than makes a steal worth it, if goroutines go on to run there for as
// long as they have.
bool worth_stealing(const Processor& p) noexcept {
  for (std::uint32_t i = 0; i < maxprocs(); ++i) {
    const Processor& other = *scheduler.processors[i];
    if (other.id != p.id && std::uint64_t{policy().load(other).offered} * other.average_ns.load_relaxed() >=
                                std::uint64_t{settings.productive_us} * 1000)
      return true;
  }
  return false;
}

// The goroutine that makes something runnable next is watched: does it compute on? What such a goroutine wakes is not
// left to wait in its P's slot.
void sample_others(const Processor& p) noexcept {
  for (std::uint32_t i = 0; i < maxprocs(); ++i)
    if (i != p.id) scheduler.processors[i]->watch.fetch_or_relaxed(kWatchSample);
}

// The role of the passive spinner, which one M has at a time.
class PassiveWatch {
 public:
  PassiveWatch(Machine& m, Ticks& seen) noexcept : m_(m), seen_(seen) {}

  // False: another M has that role.
  bool claim() noexcept {
    Machine* nobody = nullptr;
    return scheduler.passive.m.cas_acq_rel(nobody, &m_);  // pairs: passive.m
  }

  // Sleeps and looks until there is something to run, which it returns, or a reason to go through the whole search
  // again (none).
  Runnable run() noexcept {
    apart_ = keeps_apart(*m_.p);
    const std::int64_t first = apart_ ? kApartLookNs : settings.passive_first_ns;
    std::int64_t period = first;
    suppressed_ = apart_ || suppressed(m_);
    if (suppressed_ && !apart_) begin_suppression();
    scheduler.passive_apart_ns.store_relaxed(apart_ ? m_.p->retreat.until_ns() : 0);  // a hint for wakers
    seen_.read();
    scheduler.passive.until_ns.store_relaxed(0);  // no thread interrupts us for a timer before we have read them all
    scheduler.idle.set_passive(suppressed_);
    WEFT_DELAY_SITE("passive.before_check");
    Runnable found;
    if (suppressed_ || !work_exists(m_.p)) {
      while (sleep(period)) {
        if ((found = look())) break;
        if (m_.p->attention.load_relaxed() != 0 || timers_due() || !another_is_busy(*m_.p)) break;
        // Work waits on a P that does not move. That P has until the next look, which should come soon, not after the
        // longest pause.
        period = sees_aged_work(*m_.p, seen_) ? first : std::min(period * 2, longest_pause());
        seen_.read();
        sample_others(*m_.p);
      }
    }
    scheduler.idle.clear_passive();
    scheduler.passive.m.store_release(nullptr);  // pairs: passive.m
    return found;
  }

 private:
  // Begins a suppression, or goes on with the one that a waker interrupted.
  void begin_suppression() noexcept {
    const std::int64_t now = os::now_ns();
    if (now < m_.suppressed_until_ns) return;
    if (now > m_.suppressed_until_ns + kForgottenNs) m_.suppressions = 0;
    m_.suppressed_until_ns = now + (settings.passive_first_ns << m_.suppressions);
    if (m_.suppressions < kMostSuppressions) ++m_.suppressions;
  }

  std::int64_t longest_pause() const noexcept {
    return suppressed_ && !apart_ ? kSuppressedLookNs : settings.passive_limit_ns;
  }

  static bool timers_due() noexcept {
    const std::int64_t next = next_timer_ns();
    return next != TimerHeap::kNever && next <= os::now_ns();
  }

  // False: a waker woke us on purpose.
  bool sleep(std::int64_t period) noexcept {
    const std::int64_t until = os::now_ns() + period;
    scheduler.passive.until_ns.store_relaxed(until);  // ordered by the fence
    base::full_fence();                               // pairs: watcher.deadline
    const TimerWake timers = next_timer_wake();
    const std::int64_t wake_at = std::min(until, timers.at_ns);
    scheduler.passive.until_ns.store_relaxed(std::min(until, timers.interrupted_before_ns));
    m_.p->counters.bump(Counter::kPassiveSleeps);
    WEFT_DELAY_SITE("passive.before_sleep");
    // The network is left to a busy P that looks at it often.
    RunnableList ready;
    if (scheduler.idle.look().passive()) {
      RunnableList* watched = network_unwatched_for(kLeftAloneNs) ? &ready : nullptr;
      wake_at == timers.at_ns ? wait_for_timer(m_, timers, watched) : wait_for_bell(m_, wake_at, watched);
    }
    take_over(*m_.p, ready);
    if (scheduler.idle.look().passive()) return true;
    m_.fruitless = 0;
    if (suppressed_ && !apart_) clear_suspicion(m_);  // the waker had urgent work
    if (apart_ && scheduler.passive_apart_ns.load_relaxed() == 0) m_.p->retreat.end(os::now_ns());
    return false;
  }

  Runnable look() noexcept {
    Processor& p = *m_.p;
    if (const Runnable own = take_own(p)) return own;  // also what the network made ready during the sleep
    if (network_unwatched_for(kLeftAloneNs) && poll_network(p)) return next_run(p);
    if (sees_aged_work(p, seen_)) {
      clear_suspicion(m_);
      if (const Runnable stolen = steal(p, true, &seen_)) return stolen;
      if (const Runnable injected = take_injected(p)) return injected;
    }
    if (apart_) {
      if (keeps_apart(p)) return Runnable();
      p.retreat.end(os::now_ns());
      apart_ = false;
      m_.suppressed_until_ns = 0;
    }
    if (const Runnable injected = take_injected(p)) return injected;
    if (const Runnable background = take_idle_priority(p)) return background;
    if (suppressed_) {
      if (os::now_ns() < m_.suppressed_until_ns && !worth_stealing(p)) return Runnable();
      m_.fruitless = 0;  // another try
      suppressed_ = false;
      scheduler.idle.lift_suppression();
    }
    if (!processors_offer_work(&p)) return Runnable();
    const Runnable stolen = steal(p, false, nullptr);
    if (stolen && m_.fruitless == 0) m_.fruitless = 1;  // no waker called us: on probation
    return stolen;
  }

  Machine& m_;
  Ticks& seen_;
  bool suppressed_ = false;
  bool apart_ = false;  // and so suppressed
};

// --- retiring ---

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

// True: the M has no P any more and is on the idle list. False: it still has one, or has one again, and searches on.
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
  const bool leaves_work_alone = (apart || suppressed(m)) && scheduler.idle.look().spinning() > 0;
  if (!leaves_work_alone && work_exists(nullptr) && come_back(m)) return false;
  WEFT_DELAY_SITE("retire.before_sleep");
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
      if (!apart && !suppressed(m))
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
        if (!apart && !suppressed(m) && !m.brief && settings.spin_us > 0)
          if (const Runnable found = spin(m, seen)) return leave_with(m, found, true);
      }
    }
    if (const Runnable background = take_idle_priority(p)) return leave_with(m, background, false);
    if (PassiveWatch watch(m, seen);
        m.spinning && !settings.prompt_park && another_is_busy(p) && watch.claim()) {
      if (const Runnable found = watch.run()) return leave_with(m, found, true);
      continue;
    }
    if (retire(m, apart) && !wait_for_processor(m)) return Runnable();
  }
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
    const std::int64_t exit_at = os::now_ns() + settings.idle_thread_exit_ns;
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
