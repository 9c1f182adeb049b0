// SPDX-License-Identifier: MIT
#include "sched/core/next_run.h"

#include <algorithm>

#include "os/clock.h"
#include "sched/state/processor_work.h"

namespace weft::sched {
namespace {

constexpr std::uint64_t kGlobalWaitNs = 300'000;  // the oldest entry of the global queue should wait no longer

// How many dispatches until the global queue has its next turn. Where goroutines run for long it comes after fewer of
// them, but entries of the global queue are served no more often than those that wait here.
std::uint32_t dispatches_until_turn(const Processor& p) noexcept {
  if (WEFT_UNLIKELY(settings.wake_on_last_p)) return 1;              // each dispatch looks into the inbox
  if (WEFT_UNLIKELY(settings.seed_search_order)) return kTurnLimit;  // as the documents have it
  const std::uint64_t by_time = kGlobalWaitNs / (p.average_ns.load_relaxed() + 1);
  const std::uint64_t by_share = 2 + policy().load(p).all() / std::max<std::size_t>(scheduler.inject.size(), 1);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(std::max(by_time, by_share), kTurnLimit));
}

void sample_average(Processor& p, std::uint32_t dispatches) noexcept {
  const std::uint64_t now = os::ticks();
  const std::uint64_t ns = (now - p.sampled_at) * 1000 / os::ticks_per_us() / dispatches;
  p.sampled_at = now;
  const std::uint32_t before = p.average_ns.load_relaxed();
  const std::uint64_t average = before == Processor::kUnknownAverage ? ns : (before + ns) / 2;
  p.average_ns.store_relaxed(static_cast<std::uint32_t>(std::min<std::uint64_t>(average, UINT32_MAX / 4)));
}

// Rule R5 (does a waker compute on?): the next wake-up here will be sampled, and an idle P is woken for what waits.
void look_at_idle_processors(Processor& p) noexcept {
  if (scheduler.idle.look().quiet()) return;
  p.watch.fetch_or_relaxed(kWatchSample);
  // A few sleepers that run briefly are not worth another thread. All other work has woken one when it came, if that
  // was worth it then.
  if (offers_work(p) && !os::current_m()->brief) wake_for_queued_work(&p);
}

Runnable take_turn(Processor& p) noexcept {
  const std::uint32_t tick = p.tick.load_relaxed();
  sample_average(p, tick - p.turn_tick);
  p.turn_tick = tick;
  p.turn_interval = dispatches_until_turn(p);
  look_at_idle_processors(p);
  take_inbox_in(p);
  return take_one_injected(p);
}

}  // namespace

__attribute__((noinline)) Pick ask_policy_in_turn(Processor& p) noexcept {
  const Runnable due = take_turn(p);
  p.slice_tick.bump();
  return policy().next(p, due);
}

}  // namespace weft::sched
