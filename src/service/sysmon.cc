// SPDX-License-Identifier: MIT
#include "service/sysmon.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "os/affinity.h"
#include "os/clock.h"
#include "os/cpu_topology.h"
#include "os/note.h"
#include "os/thread.h"
#include "os/time_slice.h"
#include "sched/bias/paced_barrier.h"
#include "sched/core/arrivals.h"
#include "sched/core/dispatch.h"
#include "sched/core/handoff.h"
#include "sched/core/machine_sleep.h"
#include "sched/core/machines.h"
#include "sched/core/preempt.h"
#include "sched/core/retreat.h"
#include "sched/core/watcher.h"
#include "sched/model/hooks.h"
#include "sched/observe/dump.h"
#include "sched/observe/dump_threads.h"
#include "sched/rule/locked_fallback.h"
#include "sched/rule/plain_call_watch.h"
#include "sched/state/network_watch.h"
#include "sched/state/next_timer.h"
#include "sched/state/processor_work.h"
#include "sched/world/exile_shares.h"
#include "sched/world/world.h"

namespace weft::service {
namespace {

using sched::Counter;
using sched::Processor;
using sched::PStatus;
using sched::scheduler;

constexpr std::int64_t kFastNs = 20'000, kSlowNs = 10'000'000, kIdleNs = 1'000'000'000;
constexpr std::int64_t kTimerGraceNs = 1'000'000;   // how long a due timer may wait while every P computes
constexpr std::int64_t kSignalAfterNs = 1'000'000;  // after the request: code with checks has seen it by then
constexpr std::int64_t kNeglectNs = 4'000'000;      // how long work may wait beside an idle P
constexpr int kFastRounds = 50;
constexpr int kIdleRoundsBeforeSleep = 5;
constexpr std::int64_t kRetakeIdleCallNs = 10'000'000;  // for a P in a call that no work waits for
constexpr std::int64_t kFollowLimitsNs = 1'000'000'000;
constexpr std::size_t kTrimStep = 4096;
constexpr std::int64_t kTrimIntervalNs = 2'500'000'000;
constexpr std::int64_t kTrimPauseNs = 1'000'000;  // a million stacks go back to the system in two seconds

os::Note doorbell;
enum class DumpWanted : std::uint8_t { kNo, kThenGoOn, kThenExit };
base::Atom<DumpWanted> dump_wanted{DumpWanted::kNo};
base::Atom<bool> follow_limits{true};

class Sysmon {
 public:
  explicit Sysmon(const SysmonOptions& options) : options_(options), started_ns_(os::now_ns()) {
    if (options.most_locked) fallback_.emplace(*options.most_locked);
  }

  [[noreturn]] void run() {
    for (;;) {
      const std::int64_t now = now_ns_ = os::now_ns();
      scheduler.coarse_ms.store_relaxed(static_cast<std::uint32_t>(now / 1'000'000));
      scheduler.far_from_ns.store_relaxed(now + sched::kFarNs);
      sched::remind_watchers(now + sched::kFarNs);
      if (dump_wanted.load_relaxed() != DumpWanted::kNo) dump();
      bool acted = false;
      if (!scheduler.exiting.load_relaxed() && !scheduler.world_stopping.load_relaxed()) {
        acted = look_at_processors(now);
        for (std::uint32_t i = 0; i < sched::maxprocs(); ++i) {
          Processor* p = sched::policy().tick(now);
          if (p == nullptr) break;
          sched::request_preemption(*p);
        }
      }
      shares_look_ns_ = shares_.look(now);
      if (const std::int64_t at = sched::look_at_retreat(retreat_trial_, now); at != os::kForever) look_soon(at);
      sched::retry_wanted_thread();
      run_overdue_timers(now);
      help_neglected_work(now);
      look_at_network();
      trim(now);
      follow(now);
      look_at_locked_goroutines();
      trace_line(now);
      if (!scheduler.exiting.load_relaxed()) sched::hooks.watch_locks(now);
      sleep(now, acted);
    }
  }

 private:
  struct Seen {
    std::uint64_t word = 0;
    std::int64_t call_since = 0;
    std::uint32_t slice_tick = 0;
    std::int64_t slice_since = 0;
    std::int64_t asked_at = 0;  // 0: not asked in this slice
    std::int64_t cpu_ns = 0;    // its thread's CPU time at the first request
    std::uint32_t tick = 0;
    std::int64_t lease_cpu_ns = 0;
    sched::PlainCallWatch plain_calls;
  };

  // For a state that should be over at once. lasts() is true when every look for kNeglectNs has seen it; then the time
  // begins anew.
  class Neglect {
   public:
    bool lasts(bool seen, std::int64_t now) noexcept {
      if (seen && since_ == 0) since_ = now;
      const bool too_long = seen && now - since_ >= kNeglectNs;
      if (!seen || too_long) since_ = 0;
      return too_long;
    }

   private:
    std::int64_t since_ = 0;
  };

  bool look_at_processors(std::int64_t now) {
    bool acted = has_found_plain_calls();
    anybody_waits_.reset();
    calls_hold_up_work_ = false;
    // While every P computes, no P looks at its timers until a goroutine gives way. So a timer that has been due for
    // kTimerGraceNs shortens the time slices (look_at_slice).
    const sched::IdleView view = scheduler.idle.look();
    next_timer_ns_ = view.quiet() ? sched::next_timer_ns() : sched::TimerHeap::kNever;
    timers_wait_ = next_timer_ns_ != sched::TimerHeap::kNever && now - next_timer_ns_ >= kTimerGraceNs;
    std::uint32_t unwired = 0;
    for (std::uint32_t i = 0; i < sched::maxprocs(); ++i) {
      Processor& p = *scheduler.processors[i];
      const std::uint64_t word = p.word.load_acquire();  // pairs: processor.word
      if (Processor::status_of(word) == PStatus::kIdle) ++unwired;
      if (Processor::status_of(word) == PStatus::kInCall) acted |= look_at_call(p, word, now);
      if (Processor::status_of(word) == PStatus::kRunning) {
        look_at_slot(p);
        acted |= look_at_slice(p, now);
        look_for_plain_call(p, now);
      }
    }
    // A P that is idle but not on the idle list is on its way to an M. If that lasts, the system keeps the thread that
    // chose the M from running, and so from ringing it: sysmon rings instead.
    const std::uint32_t lent = shares_.has_loan() ? 1 : 0;  // that P lies idle on purpose
    if (stranded_processor_.lasts(unwired > scheduler.idle.look().idle() + lent, now)) sched::ring_chosen_machines();
    return acted;
  }

  // A call that two looks have seen is long. Its P is taken at once if work waits for it or no other P could take new
  // work, else after kRetakeIdleCallNs. An exile is in no call: its P is taken at the first look, unless it has a lease
  // (may_end_lease).
  bool look_at_call(Processor& p, std::uint64_t word, std::int64_t now) {
    Seen& seen = seen_[p.id];
    const sched::IdleView view = scheduler.idle.look();
    const bool wanted = sched::has_work(p) || !scheduler.inject.empty() || (view.idle() == 0 && view.spinning() == 0);
    calls_hold_up_work_ |= wanted;
    const sched::Machine* m = p.m;                                // racy: M structures outlive their threads
    const bool exile = m != nullptr && m->exiled.load_relaxed();  // in no call: no second look is needed
    if (seen.word != word && !exile) {
      seen.word = word;
      seen.call_since = now;
      return false;
    }
    if (exile && m->leased.load_relaxed() && !may_end_lease(p, now, wanted, seen.word != word)) {
      if (std::exchange(seen.word, word) != word) seen.call_since = now;
      return false;
    }
    if (!exile && !wanted && now - seen.call_since < kRetakeIdleCallNs) return false;
    if (!sched::take_from_call(p, word)) return false;
    scheduler.shared_counters.add(Counter::kRetakes);
    if (exile && shares_.keep(p, now)) return true;
    sched::pass_processor(p, sched::Waker::kIndifferent);
    return true;
  }

  // The P of a goroutine that is expected to block (lease.h) is taken if its thread sleeps, or has computed for a whole
  // slice while others wait.
  bool may_end_lease(Processor& p, std::int64_t now, bool wanted, bool first_look) {
    Seen& seen = seen_[p.id];
    const std::int64_t cpu_ns = sched::cpu_time_of_machine(p);
    const bool still = std::exchange(seen.lease_cpu_ns, cpu_ns) == cpu_ns && !first_look;
    if (still) return wanted || now - seen.call_since >= kRetakeIdleCallNs;
    if (first_look || now - seen.call_since < sched::settings.slice_ns || !somebody_waits(p, now)) return false;
    sched::ask_to_give_way(p);  // if its code has checks, it comes back at the next one
    return true;
  }

  // Have signals found goroutines asleep in unannounced calls since the last look? Then more such calls are expected,
  // and each P may be probed again at once.
  bool has_found_plain_calls() {
    const std::uint32_t found = scheduler.plain_calls.load_relaxed();
    if (std::exchange(plain_calls_found_, found) == found) return false;
    for (std::uint32_t i = 0; i < sched::maxprocs(); ++i) seen_[i].plain_calls.succeeded();
    return true;
  }

  void look_for_plain_call(Processor& p, std::int64_t now) {
    using Advice = sched::PlainCallWatch::Advice;
    if (!sched::settings.preempt) return;
    const Advice advice = seen_[p.id].plain_calls.look(
        p.tick.load_relaxed(), now, [&] { return p.slot.look() || anybody_waits(now); },
        [&] { return sched::cpu_time_of_machine(p); });
    if (advice == Advice::kNothing) return;
    if (advice == Advice::kProbe && sched::runs_goroutine(p)) sched::probe_by_signal(p);
    look_soon(now + sched::PlainCallWatch::kStillNs);
  }

  // Asked for each P, but found out once in a round.
  bool anybody_waits(std::int64_t now) {
    if (!anybody_waits_)
      anybody_waits_ = sched::work_exists(nullptr) || sched::next_timer_ns() <= now + sched::settings.slice_ns;
    return *anybody_waits_;
  }

  void look_soon(std::int64_t at_ns) {
    if (look_again_ns_ <= now_ns_ || at_ns < look_again_ns_) look_again_ns_ = at_ns;
  }

  // A goroutine waits in the slot while its P computes on. A spinner would take it, because the last spinner leaves
  // only with work or when every other P is idle (idle_word.h, W2). But a P whose M went into a call may have become
  // idle without leaving a spinner.
  void look_at_slot(Processor& p) {
    const std::uint32_t tick = p.tick.load_relaxed();
    const bool moved = std::exchange(seen_[p.id].tick, tick) != tick;
    if (moved || !p.slot.look()) return;
    const sched::IdleView view = scheduler.idle.look();
    if (view.idle() > 0 && view.spinning() == 0) sched::wake_one(nullptr);
  }

  // One goroutine (or a chain of them through the slot) has run for a whole slice: it is asked to give way. If its code
  // has no checks, by signal.
  bool look_at_slice(Processor& p, std::int64_t now) {
    Seen& seen = seen_[p.id];
    const std::uint32_t tick = p.slice_tick.load_relaxed();
    if (seen.slice_tick != tick) {
      seen.slice_tick = tick;
      seen.slice_since = now;
      seen.asked_at = 0;
      return false;
    }
    if (!sched::settings.preempt) return false;
    // A waiting timer has had its grace, so the slice must only be older than half of that.
    const std::int64_t allowed = sched::policy().slice_ns(p);
    const std::int64_t slice = timers_wait_ ? kTimerGraceNs / 2 : allowed;
    if (now - seen.slice_since < std::min(slice, allowed)) return false;
    if (!sched::runs_goroutine(p)) return false;
    if (seen.asked_at == 0 || (p.attention.load_relaxed() & sched::kAttentionPreempt) == 0) {
      seen.asked_at = now;
      scheduler.shared_counters.add(Counter::kPreemptsRequested);
      sched::request_preemption(p);
      if (is_wanted(p, now)) look_again_ns_ = now + kSignalAfterNs;
      seen.cpu_ns = sched::cpu_time_of_machine(p);
    } else if (now - seen.asked_at >= kSignalAfterNs && (is_wanted(p, now) || is_blocked(p, now))) {
      seen.asked_at = now;
      sched::ask_to_give_way(p);  // again: a switch just after the first request may have overwritten the guard
      sched::ask_by_signal(p);
      look_again_ns_ = now + kSignalAfterNs;
    }
    return false;
  }

  // Since it was asked the thread has hardly had the CPU: it waits in a system call that was not announced. It becomes
  // an exile although no goroutine needs its P yet, because the sooner its call is interrupted, the less of a time
  // limit begins anew (arch/restart_call.h).
  bool is_blocked(const Processor& p, std::int64_t now) const {
    const Seen& seen = seen_[p.id];
    const std::int64_t cpu_ns = sched::cpu_time_of_machine(p);
    return cpu_ns >= 0 && cpu_ns - seen.cpu_ns < (now - seen.asked_at) / 16;
  }

  // Does the goroutine on p keep any work waiting? If not, it may go on with its P.
  static bool somebody_waits(const Processor& p, std::int64_t now) {
    return sched::has_work(p) || sched::work_exists(nullptr) || sched::next_timer_ns() <= now + sched::settings.slice_ns;
  }

  // The P is needed by waiting work, or for an exile's turn.
  bool is_wanted(const Processor& p, std::int64_t now) const { return somebody_waits(p, now) || shares_.wants_loan(); }

  // Every P is busy and has not looked at its timers. The goroutines are injected: an idle or passive M takes them, or
  // the next dispatch does.
  void run_overdue_timers(std::int64_t now) {
    const std::int64_t next = sched::next_timer_ns();
    if (next == sched::TimerHeap::kNever || now - next < kSlowNs) return;
    std::uint32_t fired = 0;
    for (std::uint32_t i = 0; i < sched::maxprocs(); ++i) {
      sched::DueSleepers sleepers;
      fired += scheduler.processors[i]->timers.run_due(now, true, sleepers);
      sched::inject_sleepers(sleepers);
    }
    scheduler.shared_counters.add(Counter::kTimersFired, fired);
  }

  // A P is idle although work waits, because the system does not run the M that counts as looking for work (a busy
  // machine, a debugger). Another M is started with that P.
  void help_neglected_work(std::int64_t now) {
    const bool seen =
        !scheduler.world_stopping.load_relaxed() && scheduler.idle.look().idle() > 0 && sched::work_exists(nullptr);
    if (!neglected_work_.lasts(seen, now)) return;
    const std::int32_t index = scheduler.idle.pop();
    if (index >= 0) sched::start_machine(*scheduler.processors[index], false);
  }

  // Every P has been busy, and no M has looked at the descriptors for kSlowNs.
  static void look_at_network() {
    if (scheduler.network.waiting.load_relaxed() == 0 || !sched::network_unwatched_for(kSlowNs)) return;
    sched::RunnableList ready;
    sched::look_at_network(ready);
    sched::inject(ready);
  }

  void trim(std::int64_t now) {
    if (trimming_) {
      trimming_ = scheduler.stacks.trim(kTrimStep);
      return;
    }
    if (now - trimmed_ns_ < kTrimIntervalNs) return;
    trimmed_ns_ = now;
    trimming_ = scheduler.stacks.trim(kTrimStep);
    if (!trimming_) scheduler.stacks.begin_trim_interval();
  }

  void follow(std::int64_t now) {
    if (now - followed_ns_ < kFollowLimitsNs) return;
    followed_ns_ = now;
    os::refresh_allowed_cpus();
    if (!follow_limits.load_relaxed()) return;
    const int wanted = os::default_maxprocs("", getpid());
    if (static_cast<std::uint32_t>(wanted) == sched::maxprocs()) return;
    sched::stop_the_world();
    sched::resize(static_cast<std::uint32_t>(wanted));
    sched::start_the_world();
  }

  void look_at_locked_goroutines() {
    using Advice = sched::LockedFallback::Advice;
    if (!fallback_ || scheduler.exiting.load_relaxed()) return;
    const Advice advice = fallback_->look(scheduler.locked_goroutines.load_relaxed(), options_.fallback.is_in_force());
    if (advice == Advice::kGoThere) options_.fallback.begin();
    if (advice == Advice::kComeBack) options_.fallback.end();
  }

  void trace_line(std::int64_t now) {
    if (options_.schedtrace_ns == 0 || now < next_trace_ns_) return;
    next_trace_ns_ = now + options_.schedtrace_ns;
    char line[4096];
    const sched::IdleView view = scheduler.idle.look();
    int length = std::snprintf(
        line, sizeof line,
        "SCHED %lldms: maxprocs=%u idleprocs=%u threads=%u spinningthreads=%u idlethreads=%u runqueue=%zu [",
        static_cast<long long>((now - started_ns_) / 1'000'000), sched::maxprocs(), view.idle(),
        scheduler.threads.load_relaxed(), view.spinning(), scheduler.idle_machine_count, scheduler.inject.size());
    for (std::uint32_t i = 0; i < sched::maxprocs() && length < static_cast<int>(sizeof line) - 32; ++i)
      length += std::snprintf(line + length, sizeof line - static_cast<std::size_t>(length), "%s%u", i == 0 ? "" : " ",
                              sched::policy().load(*scheduler.processors[i]).all());
    length += std::snprintf(line + length, sizeof line - static_cast<std::size_t>(length), "]\n");
    base::write_stderr(line, static_cast<std::size_t>(length));
  }

  static void write_dump() {
    const auto sink = [](void*, std::string_view text) { base::write_stderr(text.data(), text.size()); };
    sched::dump_goroutines(sink, nullptr, {.goroutines = 10'000});
    sched::dump_threads(sink, nullptr);
  }

  void dump() {
    if (dump_wanted.exchange_relaxed(DumpWanted::kNo) == DumpWanted::kThenExit) dump_and_exit();
    if (scheduler.exiting.load_relaxed()) return;
    constexpr std::string_view kHead = "weft: dump\n\n";
    base::write_stderr(kHead.data(), kHead.size());
    sched::stop_the_world();
    write_dump();
    sched::start_the_world();
  }

  [[noreturn]] static void dump_and_exit() {
    constexpr std::string_view kHead = "SIGQUIT: quit\n\n";
    base::write_stderr(kHead.data(), kHead.size());
    sched::stop_the_world_for_exit(1'000'000'000);
    write_dump();
    base::run_last_words();
    std::_Exit(2);
  }

  void sleep(std::int64_t now, bool acted) {
    if (scheduler.exiting.load_relaxed()) {
      if (++idle_rounds_ > kIdleRoundsBeforeSleep) sched::hooks.all_idle();  // a destructor may wait for a goroutine
      rest(now + kSlowNs, false);
      return;
    }
    const bool all_idle = scheduler.idle.look().idle() == sched::maxprocs();
    if (all_idle) {
      if (++idle_rounds_ > kIdleRoundsBeforeSleep) {
        sched::hooks.all_idle();  // a foreign thread that kept the deadlock check silent may be gone
        std::int64_t until = now + (trimming_                     ? kTrimPauseNs
                                    : options_.schedtrace_ns != 0 ? std::min(options_.schedtrace_ns, kIdleNs)
                                                                  : kIdleNs);
        // Some M sleeps until the next timer, if the system lets it wake up. If that is soon, sysmon does not sleep
        // deeply, because the M would have to wake it and it would look closely again.
        const std::int64_t timer = sched::next_timer_ns();
        if (timer < now + kSlowNs) return rest(now + kSlowNs, false);
        if (timer < until) until = std::min(until, std::max(now, timer) + 2 * kSlowNs);
        rest(until, true);
        return;
      }
      rest(now + kSlowNs, false);
      return;
    }
    idle_rounds_ = 0;
    if (acted || (calls_hold_up_work_ && period_ >= kSlowNs)) {
      quiet_rounds_ = 0;
      period_ = kFastNs;
    } else if (++quiet_rounds_ > kFastRounds || !calls_hold_up_work_) {
      // Slices are watched closely only if work waits for their end.
      const std::int64_t slice = sched::settings.slice_ns;
      period_ = std::min(period_ * 2, std::min(kSlowNs, sched::work_exists(nullptr) ? slice / 2 : slice));
    }
    std::int64_t until = now + (trimming_ ? std::min(period_, kTrimPauseNs) : period_);
    if (look_again_ns_ > now) until = std::min(until, look_again_ns_);
    if (const std::int64_t tick = sched::policy().next_tick_ns(); tick > now) until = std::min(until, tick);
    if (next_timer_ns_ != sched::TimerHeap::kNever)
      until = std::min(until, std::max(now, next_timer_ns_) + kTimerGraceNs);
    rest(until, false);
  }

  void rest(std::int64_t until, bool deep) {
    if (shares_look_ns_ != sched::ExileShares::kNever) {  // exiles take turns even while every P is idle
      until = std::min(until, shares_look_ns_);
      deep = false;
    }
    scheduler.sysmon_slow.store_relaxed(until - os::now_ns() > 1'000'000);
    if (deep) {
      scheduler.far_from_ns.store_relaxed(sched::TimerHeap::kNever);
      scheduler.sysmon_asleep.store_seq_cst(true);  // pairs: sysmon.asleep
      if (scheduler.idle.look().idle() != sched::maxprocs()) until = 0;
      sched::remind_watchers(sched::TimerHeap::kNever);
    }
    if (doorbell.wait(until)) {
      period_ = kFastNs;
      quiet_rounds_ = 0;
    }
    if (deep) scheduler.sysmon_asleep.store_seq_cst(false);  // pairs: sysmon.asleep
  }

  SysmonOptions options_;
  std::int64_t started_ns_;
  std::int64_t next_trace_ns_ = 0, trimmed_ns_ = 0, followed_ns_ = os::now_ns();
  bool trimming_ = false;
  bool calls_hold_up_work_ = false;
  std::int64_t look_again_ns_ = 0, now_ns_ = 0;
  std::uint32_t plain_calls_found_ = 0;
  std::optional<bool> anybody_waits_;
  std::int64_t next_timer_ns_ = sched::TimerHeap::kNever;
  bool timers_wait_ = false;
  Neglect neglected_work_, stranded_processor_;
  std::int64_t period_ = kSlowNs;
  int quiet_rounds_ = 0, idle_rounds_ = 0;
  sched::ExileShares shares_;
  sched::RetreatTrial retreat_trial_;
  std::optional<sched::LockedFallback> fallback_;
  std::int64_t shares_look_ns_ = sched::ExileShares::kNever;
  Seen seen_[sched::kMaxProcessors];
};

void sysmon_main(void* raw) {
  os::ask_for_precise_timers();
  os::ask_for_short_slices();
  sched::open_early_timers();
  sched::PacedBarrier::enable();  // here, where no goroutine waits for it
  static_cast<Sysmon*>(raw)->run();
}

}  // namespace

bool start_sysmon(const SysmonOptions& options) {
  follow_limits.store_relaxed(options.follow_cpu_limits);
  // Goroutines may park before the thread has run. With coarse_ms 0 they would seem
  // to wait since the machine was booted.
  scheduler.coarse_ms.store_relaxed(static_cast<std::uint32_t>(os::now_ns() / 1'000'000));
  // Lives as long as the process. Not on the heap, where a leak checker
  // in the child of a fork would find it without an owner.
  alignas(Sysmon) static std::byte place[sizeof(Sysmon)];
  auto* sysmon = new (place) Sysmon(options);
  return sched::hooks.start_thread(sysmon_main, sysmon, 512 * 1024, "weft-sysmon") == 0;
}

void set_follow_cpu_limits(bool follow) { follow_limits.store_relaxed(follow); }
void poke_sysmon() { doorbell.signal(); }

void request_dump_and_exit() {
  dump_wanted.store_relaxed(DumpWanted::kThenExit);
  doorbell.signal();
}
void request_dump() {
  dump_wanted.store_relaxed(DumpWanted::kThenGoOn);
  doorbell.signal();
}

}  // namespace weft::service
