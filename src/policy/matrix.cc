// SPDX-License-Identifier: MIT
#include "policy/matrix.h"

#include "sched/model/gangs.h"
#include "sched/queue/victim_order.h"
#include "sched/state/scheduler.h"
#include "sched/state/spawn.h"

namespace weft::policy {

using sched::gangs;
using sched::Known;
using sched::Pick;
using sched::Place;
using sched::Processor;
using sched::Runnable;
using sched::scheduler;
using sched::Why;

namespace {

// Null: it is in no task force.
sched::GangMember* member_of(Runnable runnable) noexcept {
  if (runnable.is_record()) return runnable.has_extra() ? sched::extra_of(runnable).gang : nullptr;
  const sched::Goroutine* g = runnable.goroutine();
  return (g->flags & sched::kGMember) != 0 ? g->gang : nullptr;
}

// Members wait for that P, and it runs none, so thieves may take them.
bool has_members_for_thieves(const Processor& p) noexcept {
  return gangs.waiting(p.id) > 0 && !(gangs.runs_member(p.id) && p.status() == sched::PStatus::kRunning);
}

}  // namespace

Place Matrix::ready(Processor& p, Runnable runnable, Why why, Known known) noexcept {
  sched::GangMember* member = member_of(runnable);
  if (WEFT_LIKELY(member == nullptr)) return others_.ready(p, runnable, why, known);
  const std::uint32_t column = gangs.wait(*member, runnable, sched::maxprocs());
  return has_members_for_thieves(*scheduler.processors[column]) ? Place::kOffered : Place::kHidden;
}

Pick Matrix::next(Processor& p, Runnable due) noexcept {
  if (WEFT_UNLIKELY(gangs.waiting(p.id) != 0 || gangs.runs_member(p.id))) return next_beside_members(p, due);
  if (WEFT_UNLIKELY(due && member_of(due) != nullptr)) return next_beside_members(p, due);
  return others_.next(p, due);
}

Pick Matrix::exchange(Processor& p, Runnable yielding) noexcept {
  const bool plain = gangs.waiting(p.id) == 0 && !gangs.runs_member(p.id) && member_of(yielding) == nullptr;
  return WEFT_LIKELY(plain) ? others_.exchange(p, yielding) : next_beside_members(p, Runnable());
}

Pick Matrix::next_beside_members(Processor& p, Runnable due) noexcept {
  if (gangs.runs_member(p.id)) gangs.stop_running(p.id);
  // What has waited for any P takes part in the turns like the rest.
  const std::uint32_t offered = due && ready(p, due, Why::kInjected, Known::kNothing) == Place::kOffered ? 1 : 0;
  if (gangs.is_ungrouped_turn()) {
    Pick pick = others_.next(p, Runnable());
    pick.offered += offered;
    if (pick.what) return pick;
  }
  if (const Runnable member = gangs.take(p.id, p.id, sched::maxprocs())) {
    p.slot_runs = 0;  // when it parks, the policy is asked
    return {.what = member, .offered = offered};
  }
  Pick pick = others_.next(p, Runnable());
  pick.offered += offered;
  return pick;
}

sched::Theft Matrix::steal(Processor& thief, sched::Effort effort, const std::uint32_t* seen_ticks) noexcept {
  if (const sched::Theft theft = others_.steal(thief, effort, seen_ticks); theft.what) return theft;
  if (!gangs.any()) return {};
  sched::VictimOrder order(sched::maxprocs(), thief.random.next());
  for (std::uint32_t id; order.next(id);) {
    if (id == thief.id || !has_members_for_thieves(*scheduler.processors[id])) continue;
    const Runnable member = gangs.take(id, thief.id, sched::maxprocs());
    if (!member) continue;
    thief.slot_runs = 0;
    thief.counters.bump(sched::Counter::kGoroutinesStolen);
    return {member};
  }
  return {};
}

bool Matrix::offers(const Processor* except) const noexcept {
  if (others_.offers(except)) return true;
  // Those of `except`, too: any thread adds members to its column, perhaps since its M has looked there.
  if (!gangs.any()) return false;
  for (std::uint32_t i = 0; i < sched::maxprocs(); ++i)
    if (gangs.waiting(i) > 0 && (scheduler.processors[i] == except || has_members_for_thieves(*scheduler.processors[i])))
      return true;
  return false;
}

sched::Load Matrix::load(const Processor& p) const noexcept {
  sched::Load load = others_.load(p);
  (has_members_for_thieves(p) ? load.offered : load.hidden) += gangs.waiting(p.id);
  return load;
}

void Matrix::visit(const Processor& p, sched::Visitor visitor) const noexcept {
  others_.visit(p, visitor);
  gangs.for_each_waiting(p.id, visitor);
}

void Matrix::drain(Processor& p, sched::RunnableList& out) noexcept {
  others_.drain(p, out);
  gangs.drain(p.id, out);
}

// In the turn of a row: the member in its cell waits. In the turn of the others: it runs a member, and some of them
// wait.
bool Matrix::runs_out_of_turn(const Processor& p) noexcept {
  if (!gangs.is_ungrouped_turn()) return gangs.wants_other(p.id);
  return gangs.runs_member(p.id) && (others_.load(p).any() || p.slot.look() || !scheduler.inject.empty());
}

Processor* Matrix::tick(std::int64_t now_ns) noexcept {
  if (now_ns >= turn_ends_ns_) {
    if (!gangs.any()) return nullptr;
    gangs.begin_next_turn();
    turn_ends_ns_ = now_ns + sched::settings.slice_ns;
    next_asked_ = 0;
  }
  while (next_asked_ < sched::maxprocs())
    if (Processor& p = *scheduler.processors[next_asked_++];
        p.status() == sched::PStatus::kRunning && runs_out_of_turn(p))
      return &p;
  return nullptr;
}

std::int64_t Matrix::next_tick_ns() const noexcept { return gangs.any() ? turn_ends_ns_ : INT64_MAX; }

}  // namespace weft::policy
