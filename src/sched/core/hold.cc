// SPDX-License-Identifier: MIT
#include "sched/core/hold.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "arch/fiber_sanitizer.h"
#include "base/delay_site.h"
#include "os/clock.h"
#include "os/futex.h"
#include "sched/model/hooks.h"
#include "sched/state/scheduler.h"
#include "sched/state/thread_signal.h"

namespace weft::sched {
namespace {

// Asked again soon, because code that is mostly in the C library is outside it, where it can be held, only now and
// then.
constexpr std::int64_t kAskAgainNs = 50'000, kRemindNs = 200'000;
constexpr std::int64_t kUnansweredNs = 5'000'000;             // then a signal without an answer has come too late
constexpr std::uint32_t kGiveUpCall = 400, kGiveUp = 40'000;  // refusals: 20 ms and 2 s at one per kAskAgainNs
constexpr std::int64_t kDeafNs = 2'000'000'000;               // longer than a busy machine keeps a thread from its CPU
constexpr std::int64_t kSysmonSilentNs = 200'000'000;

// Sysmon gives turns. If it is not heard of for kSysmonSilentNs (it may want a lock of the C library that the held
// exile has and that no walk has seen), the exile goes on by itself.
bool sysmon_is_silent() noexcept {
  const auto now_ms = static_cast<std::uint32_t>(os::now_ns() / 1'000'000);
  return now_ms - scheduler.coarse_ms.load_relaxed() > kSysmonSilentNs / 1'000'000;
}

bool is_exile(const Machine& m) noexcept {
  return m.exiled.load_acquire() && m.guard_slot != nullptr;  // pairs: machine.exiled
}

// The exile sleeps with a lock, has blocked the signal, or its stack cannot be walked. Holders wait for it no longer,
// but it is reminded (remind_exiles).
bool is_lost(const Machine& m, std::int64_t now) noexcept {
  const std::uint32_t refusals = m.hold.refusals.load_relaxed();
  switch (m.hold.last_refusal.load_relaxed()) {
    case Refusal::kForbidden: return false;
    case Refusal::kCall:      return refusals >= kGiveUpCall;
    case Refusal::kPlace:     return refusals >= kGiveUp || (refusals == 0 && now - m.hold.wanted_ns >= kDeafNs);
  }
  return false;
}

// Real-time signals queue: a thread without a CPU would answer many of them later, all in the same place. So a signal
// without an answer is repeated only after kUnansweredNs.
void signal_unless_pending(Machine& m, std::int64_t now, std::int64_t again_ns) noexcept {
  const std::uint32_t refusals = m.hold.refusals.load_relaxed();
  const bool answered = m.hold.asked_ns == 0 || refusals != m.hold.refusals_then;
  if (now - m.hold.asked_ns < (answered ? again_ns : std::max(again_ns, kUnansweredNs))) return;
  m.hold.asked_ns = now;
  m.hold.refusals_then = refusals;
  send_preempt_signal(scheduler.preempt_signal.load_relaxed(), m.tid);
}

// Asks every exile but the caller. Returns how many have to be waited for.
std::uint32_t ask_exiles(HoldReason reason) noexcept {
  const Machine* own = os::current_m();
  const std::int64_t now = os::now_ns();
  std::uint32_t left = 0;
  std::lock_guard guard(scheduler.machines_lock);
  for (Machine* m = scheduler.all_machines; m != nullptr; m = m->all_next) {
    if (m == own || !is_exile(*m) || ask_to_hold(*m, reason, now, kAskAgainNs) || is_lost(*m, now)) continue;
    ++left;
  }
  return left;
}

}  // namespace

void stay_while_held(Machine& m, const void* context) noexcept {
  Hold& hold = m.hold;
  os::delete_timer(std::exchange(hold.timer, os::kNoTimer));
  hold.context.store_relaxed(context);            // published by kHeld
  std::uint32_t word = hold.word.load_acquire();  // pairs: hold.word
  for (;;) {
    if ((word & kHoldReasons) == 0) {
      if (!hold.word.cas_acq_rel(word, 0)) continue;  // pairs: hold.word
      arch::fiber_goes_on();
      return;
    }
    if ((word & kHeld) == 0) {
      arch::fiber_stands_still();
      WEFT_DELAY_SITE("hold.before_staying");
      if (!hold.word.cas_acq_rel(word, word | kHeld)) continue;  // pairs: hold.word
      word |= kHeld;
      if ((word & (kHoldWorld | kHoldExit)) != 0) scheduler.held_note.signal();
      if ((word & kHoldShare) != 0) hooks.poke_sysmon();  // the next exile has its turn
    }
    const bool by_sysmon = (word & kHoldReasons) == kHoldShare;
    os::futex_wait(hold.word, word, by_sysmon ? os::now_ns() + kSysmonSilentNs : os::kForever);
    word = hold.word.load_acquire();  // pairs: hold.word
    // pairs: exiting
    if ((word & kHoldReasons) == kHoldShare && sysmon_is_silent() && !scheduler.exiting.load_acquire())
      word = hold.word.fetch_and_acq_rel(~std::uint32_t{kHoldShare}) & ~std::uint32_t{kHoldShare};  // pairs: hold.word
  }
}

bool refuse_to_stay(Machine& m, Refusal reason) noexcept {
  m.hold.last_refusal.store_relaxed(reason);
  const std::uint32_t refusals = m.hold.refusals.fetch_add_relaxed(1);
  const bool urgent = (m.hold.word.load_relaxed() & (kHoldWorld | kHoldExit)) != 0;
  return urgent && reason == Refusal::kPlace && refusals < kGiveUp;
}

void no_longer_exiled(Machine& m) noexcept {
  arch::fiber_stands_still();
  m.exiled.store_release(false);  // pairs: machine.exiled
}

void end_hold(Machine& m) noexcept {
  if (WEFT_UNLIKELY((m.hold.word.load_relaxed() & kHoldShare) != 0))
    m.hold.word.fetch_and_acq_rel(~std::uint32_t{kHoldShare});  // pairs: hold.word
  if (WEFT_UNLIKELY(m.hold.timer != os::kNoTimer)) os::delete_timer(std::exchange(m.hold.timer, os::kNoTimer));
}

void stay_until_its_turn(Machine& m, const void* context) noexcept {
  m.hold.word.fetch_or_acq_rel(kHoldShare);  // pairs: hold.word
  stay_while_held(m, context);
}

bool ask_to_hold(Machine& m, HoldReason reason, std::int64_t now, std::int64_t again_ns) noexcept {
  const std::uint32_t before = m.hold.word.fetch_or_acq_rel(reason);  // pairs: hold.word
  if ((before & kHeld) != 0) return true;
  if ((before & reason) == 0) {
    m.hold.refusals.store_relaxed(0);
    m.hold.last_refusal.store_relaxed(Refusal::kPlace);
    m.hold.asked_ns = 0;
    m.hold.wanted_ns = now;
  }
  signal_unless_pending(m, now, again_ns);
  return false;
}

void let_go(Machine& m, HoldReason reason) noexcept {
  const std::uint32_t before = m.hold.word.fetch_and_acq_rel(~std::uint32_t{reason});  // pairs: hold.word
  if ((before & kHeld) != 0) os::futex_wake(m.hold.word);
}

bool hold_exiles(HoldReason reason, std::int64_t deadline_ns) noexcept {
  if (scheduler.preempt_signal.load_relaxed() == 0) return true;
  while (ask_exiles(reason) != 0) {
    const std::int64_t now = os::now_ns();
    if (now >= deadline_ns) return false;
    scheduler.held_note.wait(now + kAskAgainNs);
  }
  return true;
}

void let_exiles_go(HoldReason reason) noexcept {
  std::lock_guard guard(scheduler.machines_lock);
  for (Machine* m = scheduler.all_machines; m != nullptr; m = m->all_next)
    if ((m->hold.word.load_relaxed() & reason) != 0) let_go(*m, reason);
}

bool remind_exiles(std::int64_t now) noexcept {
  if (scheduler.preempt_signal.load_relaxed() == 0) return false;
  const Machine* own = os::current_m();
  bool any = false;
  std::lock_guard guard(scheduler.machines_lock);
  for (Machine* m = scheduler.all_machines; m != nullptr; m = m->all_next) {
    const std::uint32_t word = m->hold.word.load_relaxed();
    if (m == own || !is_exile(*m) || (word & kHeld) != 0 || (word & (kHoldWorld | kHoldExit)) == 0) continue;
    any = true;
    signal_unless_pending(*m, now, kRemindNs);
  }
  return any;
}

}  // namespace weft::sched
