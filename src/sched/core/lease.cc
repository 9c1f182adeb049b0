// SPDX-License-Identifier: MIT
#include "sched/core/lease.h"

#include <algorithm>

#include "os/thread_usage.h"
#include "sched/core/handoff.h"
#include "sched/core/hold.h"
#include "sched/core/preempt.h"

namespace weft::sched {
namespace {

constexpr std::int64_t kMostComputingNs = 200'000;
constexpr std::uint8_t kSlept = 2;

// Habits of spawn sites, found by a hash. Two sites with the same entry share its habit, which each lease verifies
// anyway.
class Sites {
 public:
  std::uint8_t habit(std::int32_t site) const noexcept { return entry(site).load_relaxed(); }
  // Of the changes of two threads at once one may get lost.
  void set(std::int32_t site, std::uint8_t habit) noexcept { entry(site).store_relaxed(habit); }

 private:
  static constexpr std::uint32_t kBits = 12;
  static std::size_t index(std::int32_t site) noexcept {
    return (static_cast<std::uint32_t>(site) * 2654435769u) >> (32 - kBits);
  }
  const base::Atom<std::uint8_t>& entry(std::int32_t site) const noexcept { return habits_[index(site)]; }
  base::Atom<std::uint8_t>& entry(std::int32_t site) noexcept { return habits_[index(site)]; }

  base::Atom<std::uint8_t> habits_[std::size_t{1} << kBits] = {};
};
constinit Sites sites;

std::uint8_t stronger(std::uint8_t habit) noexcept { return std::min<std::uint8_t>(habit + kSlept, kHabitMax); }
std::uint8_t weaker(std::uint8_t habit) noexcept { return habit > 0 ? static_cast<std::uint8_t>(habit - 1) : habit; }

void set_habit(Goroutine* g, std::uint8_t habit) noexcept {
  g->habits.plain_calls = habit;
  g->flags = static_cast<std::uint8_t>(habit > 0 ? g->flags | kGBlocks : g->flags & ~kGBlocks);
}

// Changes the habits of g and its site by what the lease has shown.
void judge(Goroutine* g, const os::ThreadUsage& before, const os::ThreadUsage& now) noexcept {
  const bool slept = now.times_slept != before.times_slept;
  const std::uint8_t site = sites.habit(g->site);
  sites.set(g->site, slept ? stronger(site) : weaker(site));
  std::uint8_t habit = slept ? stronger(g->habits.plain_calls) : weaker(g->habits.plain_calls);
  if (now.cpu_ns - before.cpu_ns > kMostComputingNs) habit = std::min<std::uint8_t>(habit, kHabitStrong - 1);
  if (settings.leases != Leases::kAlways) set_habit(g, habit);
}

bool may_lease(const Goroutine* g, const Processor& p) noexcept {
  return g->no_preempt == 0 && p.attention.load_relaxed() == 0 && !scheduler.exiting.load_relaxed();
}

}  // namespace

void learn_plain_call(Goroutine* g) noexcept {
  if (settings.leases == Leases::kNever) return;
  set_habit(g, stronger(g->habits.plain_calls));
  sites.set(g->site, stronger(sites.habit(g->site)));
  scheduler.sites_block.store_relaxed(true);
  scheduler.plain_calls.fetch_add_relaxed(1);
}

void lease_processor() noexcept {
  Goroutine* g = os::current_g();
  Machine& m = *os::current_m();
  Processor& p = *m.p;
  if (g->habits.plain_calls == 0 || !may_lease(g, p) || !count_exile()) return;
  m.lease_usage = os::thread_usage();
  p.counters.bump(Counter::kLeases);
  m.call_frame = nullptr;  // the goroutine runs: there is no frame for a dump to begin at
  m.leased.store_relaxed(true);
  m.exiled.store_relaxed(true);  // from here on its next call of the runtime is its return
  leave_processor_in_call(m, g);
  give_up_predicted_call(p, m.call_word, g->habits.plain_calls >= kHabitStrong);
}

void lease_by_site(Goroutine* g) noexcept {
  const std::uint8_t habit = settings.leases == Leases::kAlways ? kHabitMax : sites.habit(g->site);
  if (habit == 0) return;
  set_habit(g, habit);
  lease_processor();
}

void judge_lease(Machine& m) noexcept {
  m.leased.store_relaxed(false);
  judge(os::current_g(), m.lease_usage, os::thread_usage());
}

void end_lease(Machine& m) noexcept {
  Goroutine* g = os::current_g();
  judge_lease(m);
  no_longer_exiled(m);
  end_hold(m);
  scheduler.exiles.fetch_add_relaxed(static_cast<std::uint32_t>(-1));
  const std::uint8_t long_calls = g->habits.long_calls;
  leave_call(true);
  g->habits.long_calls = long_calls;  // a lease says nothing about its announced calls
}

}  // namespace weft::sched
