// SPDX-License-Identifier: MIT
#include "sched/world/exile_shares.h"

#include <algorithm>
#include <ctime>
#include <mutex>
#include <utility>

#include "os/clock.h"
#include "os/thread_run_state.h"
#include "sched/core/handoff.h"
#include "sched/core/hold.h"
#include "sched/core/machines.h"
#include "sched/core/preempt.h"
#include "sched/core/watcher.h"
#include "sched/state/next_timer.h"

namespace weft::sched {
namespace {

constexpr std::int64_t kSoonNs = 50'000, kWatchNs = 1'000'000, kCalmNs = 5'000'000;
constexpr std::uint32_t kMostQuestions = 8;  // at each look: how often the kernel is asked whether a thread sleeps
constexpr std::int64_t kAskForShareNs = 1'000'000;
constexpr std::int64_t kSlackPart = 20;  // 1/20 of a CPU is given away
constexpr std::int64_t kMostCreditNs = 2'000'000, kMostDebtNs = 20'000'000;
constexpr std::int64_t kLongestWaitNs = 50'000'000, kEscapeNs = 2'000'000;
constexpr std::int64_t kLeastGapNs = 1'000'000;

std::int64_t process_cpu_time_ns() noexcept {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000'000ll + used.tv_nsec;
}

std::int64_t processors_in_use() noexcept {
  const IdleView view = scheduler.idle.look();
  const std::int64_t away = view.idle() + view.spinning() + (scheduler.lent.load_relaxed() != nullptr ? 1 : 0);
  return std::max<std::int64_t>(maxprocs() - away, 0);
}

// An exile gives up its P by marking it "in call". Until another thread takes that P, the exile still counts as its
// user.
bool has_processor(const Machine& m) noexcept {
  for (std::uint32_t i = 0; i < maxprocs(); ++i) {
    const std::uint64_t word = scheduler.processors[i]->word.load_relaxed();
    if (Processor::status_of(word) == PStatus::kInCall && (word >> 8 & 0xffffff) == m.id) return true;
  }
  return false;
}

std::int64_t goroutines_that_wait() noexcept {
  std::int64_t sum = static_cast<std::int64_t>(scheduler.inject.size());
  for (std::uint32_t i = 0; i < maxprocs(); ++i) sum += policy().load(*scheduler.processors[i]).all();
  return sum;
}

}  // namespace

std::int64_t ExileShares::look(std::int64_t now) noexcept {
  if (scheduler.world_stopping.load_relaxed() || scheduler.exiting.load_relaxed()) {
    looked_ns_ = now;
    return remind_exiles(now) ? now + kWatchNs : kNever;
  }
  if (scheduler.exiles.load_relaxed() == 0) {
    end_loan();
    looked_ns_ = 0;
    return kNever;
  }
  if (looked_ns_ != 0 && now < looked_ns_ + kSoonNs) return looked_ns_ + kSoonNs;
  const std::int64_t passed = looked_ns_ == 0 ? 0 : now - looked_ns_;
  looked_ns_ = now;
  Census census;
  count(now, census);
  sample(now, census);
  settle(passed);
  act(now, census);  // an exile that becomes held rings sysmon (hold.cc)
  const bool calm = census.waiting + census.asked == 0 && !has_loan();
  return now + (!calm ? kWatchNs : census.computing > 0 ? kCalmNs : 4 * kCalmNs);
}

void ExileShares::count(std::int64_t now, Census& census) noexcept {
  sample_count_ = 0;
  std::size_t passed_by = 0;
  std::lock_guard guard(scheduler.machines_lock);
  for (Machine* m = scheduler.all_machines; m != nullptr; m = m->all_next) {
    if (!m->exiled.load_relaxed() || m->guard_slot == nullptr || has_processor(*m)) {
      m->turn = {};
      continue;
    }
    count_one(*m, now, census);
    if (m->turn.waits) continue;
    if (passed_by++ < skip_ || sample_count_ == kMostSamples)
      continue;  // many may sleep in calls: each look samples only some of them
    samples_[sample_count_++] = {m, m->tid};
  }
  skip_ = passed_by > kMostSamples && skip_ + kMostSamples < passed_by ? skip_ + kMostSamples : 0;
}

void ExileShares::count_one(Machine& m, std::int64_t now, Census& census) noexcept {
  ExileTurn& turn = m.turn;
  const bool wanted = (m.hold.word.load_relaxed() & kHoldShare) != 0;
  const bool waits = wanted && is_held(m.hold);
  if (turn.since_ns == 0 || turn.waits != waits) {
    turn = {};
    turn.since_ns = now;
    turn.waits = waits;
  }
  if (waits) {
    ++census.waiting;
    if (census.longest_wait == nullptr || turn.since_ns < census.longest_wait->turn.since_ns) census.longest_wait = &m;
  } else if (wanted) {
    ++census.asked;
    ask_to_hold(m, kHoldShare, now, kAskForShareNs);  // asked again: the last signal met it where it must not be held
  }
}

// Which of the sampled exiles have used a CPU since their last sample?
void ExileShares::sample(std::int64_t now, Census& census) noexcept {
  used_ns_ = 0;
  std::uint32_t questions = 0;
  for (std::size_t i = 0; i < sample_count_; ++i) {
    Machine& m = *samples_[i].m;
    ExileTurn& turn = m.turn;
    const std::int64_t cpu_ns = os::cpu_time_ns(samples_[i].thread);
    if (cpu_ns < 0) continue;
    const std::int64_t used = turn.sampled_ns == 0 ? 0 : cpu_ns - turn.cpu_ns;
    used_ns_ += used;
    // At its first sample an exile with a lease (lease.h) is expected to sleep, every other one to compute. Later, an
    // exile that had a CPU for 1/8 of the time computes. With less, it sleeps or the machine is busy: the kernel is
    // asked.
    if (turn.sampled_ns == 0 ? !m.leased.load_relaxed() : used * 8 >= now - turn.sampled_ns) {
      turn.computes = true;
    } else if ((turn.computes || used > 0) && questions++ < kMostQuestions) {
      turn.computes = !os::thread_sleeps(samples_[i].thread);
    }
    turn.sampled_ns = now;
    turn.cpu_ns = cpu_ns;
    if ((m.hold.word.load_relaxed() & kHoldShare) != 0) continue;  // already asked to stand still
    if (!turn.computes) {
      ++census.sleeping;
      turn.since_ns = now;
      continue;
    }
    ++census.computing;
    if (census.longest_turn == nullptr || turn.since_ns < census.longest_turn->turn.since_ns) census.longest_turn = &m;
  }
}

void ExileShares::settle(std::int64_t passed) noexcept {
  const std::int64_t processors = maxprocs(), process_cpu = process_cpu_time_ns();
  const std::int64_t most = process_cpu - std::exchange(process_cpu_ns_, process_cpu);
  const std::int64_t used = std::min(passed * processors_in_use() + used_ns_, most);
  if (passed > 0) credit_ns_ += passed * processors + passed / kSlackPart - used;
  credit_ns_ = std::clamp(credit_ns_, -kMostDebtNs * processors, kMostCreditNs * processors);
}

void ExileShares::act(std::int64_t now, const Census& census) noexcept {
  const std::int64_t room = maxprocs() - processors_in_use();
  if (census.computing > 0 || census.waiting == 0) last_turn_ns_ = now;
  see_to_loan(now, census, room);
  if (census.asked == 0 && census.longest_turn != nullptr && should_hold(now, census, room)) {
    hold_one(census.longest_turn, now);
    return;
  }
  if (census.waiting == 0) return;
  const bool escape = now - last_turn_ns_ >= kLongestWaitNs;
  if (escape) escape_until_ns_ = now + kEscapeNs;
  if (!escape && (census.running() >= room || credit_ns_ < 0 || loan_ends_)) return;
  release_one(census.longest_wait, now);
  last_turn_ns_ = now;
}

bool ExileShares::should_hold(std::int64_t now, const Census& census, std::int64_t room) const noexcept {
  if (now < escape_until_ns_) return false;
  if (loan_ends_) return true;
  if (credit_ns_ < 0) return true;
  return census.waiting > 0 && census.running() >= room &&
         now - census.longest_turn->turn.since_ns >= settings.slice_ns;
}

void ExileShares::see_to_loan(std::int64_t now, const Census& census, std::int64_t room) noexcept {
  if (!has_loan()) {
    loan_ends_ = false;
    if (census.waiting > 0 && room <= 0 && !loan_asked_ && now >= next_loan_ns_) request_loan();
    return;
  }
  if (loan_asked_) {  // the loan has come
    loan_asked_ = false;
    loan_since_ns_ = now;
  }
  const std::int64_t timer = next_timer_ns();
  if (timer != TimerHeap::kNever && timer <= now) {
    end_loan();
    next_loan_ns_ = now + kLeastGapNs;
    return;
  }
  loan_ends_ = now - loan_since_ns_ >= settings.slice_ns;
  // No exile uses the loan: all have come back, or sleep.
  const bool unused = census.running() == 0 && (census.waiting == 0 || loan_ends_);
  if (!unused) return;
  end_loan();
  const std::int64_t exiles = census.waiting + census.running();
  const std::int64_t gap =
      settings.slice_ns * (goroutines_that_wait() + 1) / std::max<std::int64_t>(exiles, 1);
  next_loan_ns_ = now + std::clamp(gap, kLeastGapNs, kLongestWaitNs);
}

void ExileShares::request_loan() noexcept {
  for (std::uint32_t i = 0; i < maxprocs(); ++i) {
    Processor& p = *scheduler.processors[lender_++ % maxprocs()];
    if (p.status() != PStatus::kRunning) continue;
    ask_for_loan(p);
    loan_asked_ = true;
    return;
  }
}

bool ExileShares::keep(Processor& p, std::int64_t now) noexcept {
  if (!loan_asked_ || has_loan() || !scheduler.loan_wanted.exchange_acq_rel(false)) return false;  // pairs: loan
  loan_since_ns_ = now;
  loan_asked_ = false;
  scheduler.lent.store_release(&p);  // pairs: scheduler.lent
  return true;
}

void ExileShares::end_loan() noexcept {
  loan_ends_ = false;
  loan_asked_ = false;
  scheduler.loan_wanted.store_relaxed(false);
  // The stopper of the world may have taken it (world.cc).
  if (Processor* p = scheduler.lent.exchange_acq_rel(nullptr))
    pass_processor(*p, Waker::kIndifferent);  // pairs: scheduler.lent
}

void ExileShares::hold_one(Machine* m, std::int64_t now) noexcept {
  std::lock_guard guard(scheduler.machines_lock);
  if (m->exiled.load_relaxed() && m->guard_slot != nullptr) ask_to_hold(*m, kHoldShare, now, kAskForShareNs);
}

void ExileShares::release_one(Machine* m, std::int64_t now) noexcept {
  m->turn = {};
  m->turn.since_ns = now;
  let_go(*m, kHoldShare);
}

}  // namespace weft::sched
