// SPDX-License-Identifier: MIT
#include "sched/retreat.h"

#include "os/clock.h"
#include "sched/dispatch.h"
#include "sched/scheduler.h"
#include "sched/victim_order.h"

namespace weft::sched {
namespace {

constexpr std::int64_t kShortNs = 200'000;  // of those that tests ask for

__attribute__((noinline)) void judge(Processor& p) noexcept {
  const std::int64_t now = os::now_ns();
  const bool loses = p.sharing.judge(now, p.retreat.was_just_on(now));
  if (!loses && scheduler.settings.retreats != Retreats::kAlways) return;
  if (scheduler.settings.retreats == Retreats::kNever) return;
  // One queue for all: there is nothing to give away.
  if (maxprocs() == 1 || scheduler.policy->kind() == PolicyKind::kGlobal) return;
  p.attention.fetch_or_acq_rel(kAttentionRetreat);  // pairs: attention
}

// One that runs goroutines, and has not retreated itself. A hint: a P that goes idle meanwhile is found by the look that follows.
Processor* choose_host(const Processor& p, std::int64_t now, std::uint64_t random) noexcept {
  VictimOrder order(maxprocs(), random);
  for (std::uint32_t id; order.next(id);) {
    Processor& other = *scheduler.processors[id];
    if (&other != &p && other.status() == PStatus::kRunning && !other.retreat.is_on(now)) return &other;
  }
  return nullptr;
}

}  // namespace

void note_meeting() noexcept {
  Processor* p = os::current_p();
  if (p != nullptr && WEFT_UNLIKELY(p->sharing.meet())) judge(*p);
}

void note_sharing_loss(std::uint64_t since) noexcept {
  Processor* p = os::current_p();
  const std::uint64_t ns = (os::ticks() - since) * 1000 / os::ticks_per_us();
  if (p != nullptr && p->sharing.lose(static_cast<std::int64_t>(ns))) judge(*p);
}

void retreat(Processor& p) noexcept {
  const IdleView view = scheduler.idle.look();
  if (view.idle() + view.spinning() + 1 >= maxprocs()) return;  // no other runs anything
  const std::int64_t now = os::now_ns();
  Processor* host = choose_host(p, now, p.random.next());
  if (host == nullptr) return;
  p.retreat.begin(now);
  if (scheduler.settings.retreats == Retreats::kAlways) p.retreat.end_at(now + kShortNs);
  p.counters.bump(Counter::kRetreats);
  RunnableList work;
  scheduler.policy->drain(p, work);
  if (work.empty()) return;
  while (const Runnable runnable = work.pop()) host->inbox.push(runnable);
  wake_for_queued_work(&p);  // the host may have gone idle: then somebody else looks, or we do (keeps_apart)
}

bool keeps_apart(const Processor& p) noexcept {
  if (WEFT_LIKELY(p.retreat.was_never_on())) return false;
  return scheduler.idle.look().idle() + 1 < maxprocs() && p.retreat.is_on(os::now_ns());
}

bool outweighs_sharing(const Processor& p) noexcept {
  constexpr std::uint32_t kLongRunNs = SharingMeter::kMeetingNs * SharingMeter::kMostLost;
  return p.average_ns.load_relaxed() >= kLongRunNs && scheduler.policy->backlog(p) > 0;
}

}  // namespace weft::sched
