// SPDX-License-Identifier: MIT
#include "sched/core/passive_watch.h"

#include <algorithm>

#include "base/delay_site.h"
#include "os/clock.h"
#include "sched/core/arrivals.h"
#include "sched/core/machine_sleep.h"
#include "sched/core/next_run.h"
#include "sched/core/own_work.h"
#include "sched/state/apart.h"
#include "sched/state/network_watch.h"
#include "sched/state/next_timer.h"
#include "sched/state/processor_work.h"

namespace weft::sched {
namespace {

constexpr std::int64_t kLeftAloneNs = 100'000;  // the network is left to a busy P that looks at it so often

template <class Condition>
bool another_processor(const Processor& p, Condition condition) noexcept {
  for (std::uint32_t i = 0; i < maxprocs(); ++i)
    if (i != p.id && condition(*scheduler.processors[i])) return true;
  return false;
}

// True: another P has not dispatched since the last look, with work waiting for it there or in the global queue.
bool sees_aged_work(const Processor& p, const Ticks& seen) noexcept {
  const bool injected = !scheduler.inject.empty();
  return another_processor(p, [&](const Processor& other) {
    return other.tick.load_relaxed() == seen.at[other.id] && (injected || has_work(other));
  });
}

bool sees_worthy_work(const Processor& p) noexcept {
  return another_processor(p, [](const Processor& other) {
    return rule::worth_stealing({policy().load(other).offered, other.average_ns.load_relaxed()});
  });
}

// R5: the goroutine that makes something runnable next is sampled.
void sample_others(const Processor& p) noexcept {
  for (std::uint32_t i = 0; i < maxprocs(); ++i)
    if (i != p.id) scheduler.processors[i]->watch.fetch_or_relaxed(kWatchSample);
}

bool timers_due() noexcept {
  const std::int64_t next = next_timer_ns();
  return next != TimerHeap::kNever && next <= os::now_ns();
}

}  // namespace

bool another_is_busy(const Processor& p) noexcept {
  // No order, because the passive spinner looks again after each sleep.
  return scheduler.idle.look().idle() + 1 < maxprocs() && p.id < maxprocs();
}

bool PassiveWatch::claim() noexcept {
  Machine* nobody = nullptr;
  return scheduler.passive.m.cas_acq_rel(nobody, &m_);  // pairs: passive.m
}

Runnable PassiveWatch::run() noexcept {
  apart_ = keeps_apart(*m_.p);
  suppressed_ = apart_ || m_.thief.suppressed();
  if (suppressed_ && !apart_) m_.thief.begin_suppression(os::now_ns());
  scheduler.passive_apart_ns.store_relaxed(apart_ ? m_.p->retreat.until_ns() : 0);  // a hint for wakers
  seen_.read();
  scheduler.passive.until_ns.store_relaxed(0);  // no thread interrupts us for a timer before we have read them all
  scheduler.idle.set_passive(suppressed_);
  WEFT_DELAY_SITE("passive.before_check");
  const Runnable found = suppressed_ || !work_exists(m_.p) ? sleep_and_look() : Runnable();
  scheduler.idle.clear_passive();
  scheduler.passive.m.store_release(nullptr);  // pairs: passive.m
  return found;
}

Runnable PassiveWatch::sleep_and_look() noexcept {
  Pause pause(kind());
  while (sleep(pause.ns())) {
    if (const Runnable found = look()) return found;
    if (m_.p->attention.load_relaxed() != 0 || timers_due() || !another_is_busy(*m_.p)) break;
    pause.look_again(kind(), sees_aged_work(*m_.p, seen_));
    seen_.read();
    sample_others(*m_.p);
  }
  return Runnable();
}

// False: a waker woke us on purpose.
bool PassiveWatch::sleep(std::int64_t period) noexcept {
  const std::int64_t until = os::now_ns() + period;
  scheduler.passive.until_ns.store_relaxed(until);  // ordered by the fence
  base::full_fence();                               // pairs: watcher.deadline
  const TimerWake timers = next_timer_wake();
  const std::int64_t wake_at = std::min(until, timers.at_ns);
  scheduler.passive.until_ns.store_relaxed(std::min(until, timers.interrupted_before_ns));
  m_.p->counters.bump(Counter::kPassiveSleeps);
  WEFT_DELAY_SITE("passive.before_sleep");
  RunnableList ready;
  if (scheduler.idle.look().passive()) {
    RunnableList* watched = network_unwatched_for(kLeftAloneNs) ? &ready : nullptr;
    wake_at == timers.at_ns ? wait_for_timer(m_, timers, watched) : wait_for_bell(m_, wake_at, watched);
  }
  take_over(*m_.p, ready);
  if (scheduler.idle.look().passive()) return true;
  note_call();
  return false;
}

void PassiveWatch::note_call() noexcept {
  m_.thief.forgive();
  if (suppressed_ && !apart_) m_.thief.clear();  // the waker had urgent work
  if (apart_ && scheduler.passive_apart_ns.load_relaxed() == 0) m_.p->retreat.end(os::now_ns());
}

Runnable PassiveWatch::look() noexcept {
  Processor& p = *m_.p;
  if (const Runnable own = take_own(p)) return own;  // also what the network made ready during the sleep
  if (network_unwatched_for(kLeftAloneNs) && poll_network(p)) return next_run(p);
  if (sees_aged_work(p, seen_)) {
    m_.thief.clear();
    if (const Runnable stolen = steal(p, true, &seen_)) return stolen;
    if (const Runnable injected = take_injected(p)) return injected;
  }
  if (apart_) {
    if (keeps_apart(p)) return Runnable();
    p.retreat.end(os::now_ns());
    apart_ = false;
    m_.thief.end_suppression();
  }
  if (const Runnable injected = take_injected(p)) return injected;
  if (const Runnable background = take_idle_priority(p)) return background;
  if (stays_suppressed(p) || !processors_offer_work(&p)) return Runnable();
  const Runnable stolen = steal(p, false, nullptr);
  if (stolen) m_.thief.put_on_probation();  // no waker called us
  return stolen;
}

// Gives a suppressed thief another try when the suppression is over, or a steal would be worth it.
bool PassiveWatch::stays_suppressed(const Processor& p) noexcept {
  if (!suppressed_) return false;
  if (!m_.thief.suppression_is_over(os::now_ns()) && !sees_worthy_work(p)) return true;
  m_.thief.forgive();
  suppressed_ = false;
  scheduler.idle.lift_suppression();
  return false;
}

}  // namespace weft::sched
