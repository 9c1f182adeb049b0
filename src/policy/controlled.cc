// SPDX-License-Identifier: MIT
#include "policy/controlled.h"

#include "sched/core/dispatch.h"
#include "sched/state/locals.h"
#include "sched/state/scheduler.h"
#include "sched/state/spawn.h"
#include "sched/world/world.h"

namespace weft::policy {
namespace {

using namespace sched;

constinit const char member_key = 0;

Member* as_member(void* value) noexcept { return static_cast<Member*>(value); }

void end_member(void* value) noexcept {
  Member& member = *as_member(value);
  member.ended = true;
  if (member.started) --member.team->alive;
}
// A child's, made at its start by its parent, which is a goroutine of the team.
void* copy_member(const void* value) {
  Team& team = *static_cast<const Member*>(value)->team;
  return &team.members.emplace_back(Member{.team = &team});
}
constexpr Locals::Operations kMemberOperations{end_member, copy_member};

Member* find_member(const Locals* locals) noexcept {
  return locals != nullptr ? as_member(locals->find(&member_key)) : nullptr;
}

// True: the holder runs, and has not come to ask for its successor.
bool is_running(const Team& team) noexcept {
  if (team.holder == nullptr || team.returned) return false;
  const GStatus status = team.holder->status.load_relaxed();
  return (status == GStatus::kRunning || status == GStatus::kInCall) && os::current_g() != team.holder;
}

const char* name_of(Why why) noexcept {
  switch (why) {
    case Why::kNetwork: return "a goroutine of the bubble waited for a real descriptor";
    case Why::kTimer:   return "a goroutine of the bubble waited for a timer from outside the bubble";
    default:            return "a goroutine of the bubble was woken from outside the bubble";
  }
}

}  // namespace

Controlled& controlled() noexcept {
  static constinit Controlled one;
  return one;
}

Member* member_of(const Goroutine* g) noexcept { return find_member(g->locals); }

void adopt_children(Team& team) noexcept {
  Goroutine* g = os::current_g();
  if (g->locals == nullptr) g->locals = new Locals;
  g->flags |= kGDetails;
  g->locals->add({&member_key, &team.members.emplace_back(Member{.team = &team}), &kMemberOperations});
  g->habits.controlled = kControlled;
}

void disown_children() noexcept {
  Goroutine* g = os::current_g();
  destroy_locals(g);
  g->habits.controlled = 0;
}

void Controlled::install() noexcept {
  behind_ = &sched::policy();
  installed_ = true;
  change_policy(*this);
  guard_distance_ = scheduler.guard_distance;
}

void Controlled::remove() noexcept {
  scheduler.guard_distance = guard_distance_;
  installed_ = false;
  change_policy(*behind_);
}

void Controlled::begin(Team& team) noexcept {
  team.driver = team.holder = os::current_g();
  team.processor = os::current_p()->id;
  team_.store_release(&team);  // pairs: controlled.team
}

void Controlled::end(Team& team) noexcept {
  const Locked guard(lock_);
  team.over = true;
  team_.store_release(nullptr);  // pairs: controlled.team
  for (Member& member : team.members)
    if (member.started && !member.ended && member.g != nullptr) member.g->flags |= kGIdle;  // not by way of a slot
}

void Controlled::admit_from_outside(Goroutine* g) noexcept {
  Team* team = this->team();
  if (team == nullptr) return;
  Member* member = member_of(g);
  if (member == nullptr || member->team != team) return;
  admit(*team, Runnable(g), g, member, Why::kWake);
}

std::size_t Controlled::waiting() noexcept {
  const Locked guard(lock_);
  return team()->waiting.size();
}

bool Controlled::attach(Processor& p) noexcept {
  const bool attached = behind_->attach(p);
  p.slot_runs = 0;
  return attached;
}

Load Controlled::load(const Processor& p) const noexcept {
  Load load = behind_->load(p);
  const Team* team = team_.load_acquire();  // pairs: controlled.team
  if (team != nullptr && team->processor == p.id && !is_running(*team)) ++load.hidden;
  return load;
}

// --- what becomes runnable ---

Place Controlled::ready(Processor& p, Runnable runnable, Why why, Known known) noexcept {
  Team* team = this->team();
  Goroutine* self = os::current_g();
  if (runnable.is_record()) {
    if (!runnable.has_extra() || extra_of(runnable).controlled == 0) return behind_->ready(p, runnable, why, known);
    SpawnExtra& extra = extra_of(runnable);
    Member* member = find_member(extra.inherited);
    if (extra.g == nullptr) extra.g = scheduler.stacks.take(p);
    if (team == nullptr || member == nullptr || member->team != team || extra.g == nullptr) return Place::kHidden;
    admit(*team, runnable, extra.g, member, why);
    return Place::kHidden;
  }
  Goroutine* g = runnable.goroutine();
  if (team != nullptr && g == team->driver) {
    const Locked guard(lock_);
    if (team->holder == g && why == Why::kPreempted) {
      team->returned = runnable;
    } else {
      team->driver_waits = true;
    }
    return Place::kHidden;
  }
  if (g->habits.controlled == 0) {
    // A member, which is no driver, has woken a goroutine outside.
    if (team != nullptr && why <= Why::kUnlock && self == team->holder && self != team->driver && is_controlled(self))
      team->crossing = "a goroutine outside the bubble was woken from inside";
    return behind_->ready(p, runnable, why, known);
  }
  Member* member = member_of(g);
  if (team == nullptr || (member != nullptr && member->team != team))
    return Place::kHidden;  // left over: never runs again
  if (why == Why::kInjected && g == team->holder && p.id != team->processor)
    return behind_->ready(p, runnable, why, known);
  admit(*team, runnable, g, member, why);
  return Place::kHidden;
}

void Controlled::admit(Team& team, Runnable runnable, Goroutine* g, Member* member, Why why) noexcept {
  const Locked guard(lock_);
  if (g == team.holder && (why == Why::kPreempted || why == Why::kReturned || why == Why::kInjected)) {
    team.returned = runnable;  // not the oracle's doing: it goes on
    return;
  }
  if (member == nullptr && g == team.holder) member = team.holder_member;
  if (runnable.is_record()) {
    member->number = ++team.last_number;
    member->site = runnable.record()->site;
    member->g = g;
    member->started = true;
    ++team.alive;
  }
  const Goroutine* self = os::current_g();
  const bool from_inside = self != nullptr && (self == team.driver || is_controlled(self));
  if (!from_inside && why != Why::kReturned && why != Why::kYield) team.crossing = name_of(why);
  team.waiting.push_back({runnable, g, member});
}

// --- what runs next ---

Pick Controlled::next(Processor& p, Runnable due) noexcept {
  Team* team = this->team();
  if (WEFT_UNLIKELY(team != nullptr)) {
    const Goroutine* self = os::current_g();
    const bool by_holder = self != nullptr && self == team->holder;
    if (by_holder || (p.id == team->processor && !is_running(*team))) {
      if (due) ready(p, due, Why::kInjected, Known::kNothing);
      const Locked guard(lock_);
      team->processor = p.id;
      if (const Runnable chosen = choose(p, *team)) return {chosen};
      due = Runnable();
    }
  }
  p.slot_runs = kSlotFillsOnly;  // what the policy behind may count on
  const Pick pick = behind_->next(p, due);
  p.slot_runs = 0;
  return pick;
}

// Nothing: the driver has the token and nothing waits, or its own turn has come.
Runnable Controlled::choose(Processor& p, Team& team) noexcept {
  ++team.dispatches;
  if (team.returned) {
    const Runnable returned = team.returned;
    team.returned = Runnable();
    return returned;
  }
  if (team.over || team.waiting.empty()) {
    team.forced = SIZE_MAX;
    if (!team.driver_waits) return Runnable();
    team.driver_waits = false;
    team.holder = team.driver;
    team.holder_member = nullptr;
    return Runnable(team.driver);
  }
  std::size_t index = team.forced;
  team.forced = SIZE_MAX;
  if (index == SIZE_MAX) {
    team.numbers.clear();
    for (const Team::Waiting& one : team.waiting)
      team.numbers.push_back(one.member != nullptr ? one.member->number : 0);
    const Goroutine* self = os::current_g();
    const bool yields = self != nullptr && self == team.holder && self->status.load_relaxed() != GStatus::kWaiting &&
                        self->status.load_relaxed() != GStatus::kDead;
    index = team.oracle.next(team.numbers.data(), team.numbers.size(),
                             yields ? Oracle::Moment::kYield : Oracle::Moment::kWait);
  }
  if (index == Oracle::kStop) {
    team.over = team.exhausted = true;
    return choose(p, team);
  }
  const Team::Waiting chosen = team.waiting[index];
  team.waiting.erase(team.waiting.begin() + static_cast<std::ptrdiff_t>(index));
  team.holder = chosen.g;
  team.holder_member = chosen.member;
  volatile std::uint32_t* flag = os::current_m()->preempt_flag;
  if (team.oracle.wants_checks() && flag != nullptr) *flag = 1;  // for preempt_point()
  return chosen.what;
}

void Controlled::at_point(Oracle::Moment moment) noexcept {
  Team* team = this->team();
  const Goroutine* g = os::current_g();
  if (team == nullptr || g != team->holder || team->over || os::current_p() == nullptr) return;
  {
    const Locked guard(lock_);
    team->numbers.clear();
    team->numbers.push_back(team->holder_member != nullptr ? team->holder_member->number : 0);
    for (const Team::Waiting& one : team->waiting)
      team->numbers.push_back(one.member != nullptr ? one.member->number : 0);
    const std::size_t index = team->oracle.next(team->numbers.data(), team->numbers.size(), moment);
    if (index == Oracle::kStop) {
      team->over = team->exhausted = true;
    } else if (index == 0) {
      return;
    } else {
      team->forced = index - 1;
    }
  }
  sched::yield();
}

void Controlled::let_run() noexcept { sched::yield(); }

}  // namespace weft::policy
