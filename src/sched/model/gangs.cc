// SPDX-License-Identifier: MIT
#include "sched/model/gangs.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "base/check.h"
#include "os/clock.h"

namespace weft::sched {

namespace {

union NeverDestroyed {
  constexpr NeverDestroyed() noexcept : gangs() {}
  ~NeverDestroyed() {}
  Gangs gangs;
};
constinit NeverDestroyed storage;

}  // namespace

constinit Gangs& gangs = storage.gangs;

// --- forces and members ---

void Gangs::add(GangForce& force) noexcept {
  const std::lock_guard guard(lock_);
  force.next = forces_;
  if (forces_ != nullptr) forces_->previous = &force;
  forces_ = &force;
}

bool Gangs::remove(GangForce& force) noexcept {
  const std::lock_guard guard(lock_);
  if (force.size != 0) return false;
  (force.previous != nullptr ? force.previous->next : forces_) = force.next;
  if (force.next != nullptr) force.next->previous = force.previous;
  return true;
}

GangMember* Gangs::join(GangForce& force, std::uint32_t columns) {
  auto member = std::make_unique<GangMember>();
  member->force = &force;
  const std::lock_guard guard(lock_);
  fit(columns);
  chain(*member);
  place(*member);
  judge(force);
  return member.release();
}

void Gangs::leave(GangMember* member) noexcept {
  {
    const std::lock_guard guard(lock_);
    if (member->runs_on != GangMatrix::kNowhere) stop(member->runs_on);
    if (member->waiting) unlist(*member);
    remove_from_team(*member);
    unchain(*member);
    judge(*member->force);
  }
  delete member;
}

void Gangs::chain(GangMember& member) noexcept {
  GangForce& force = *member.force;
  member.previous_of_force = force.last;
  (force.last != nullptr ? force.last->next_of_force : force.first) = &member;
  force.last = &member;
  ++force.size;
  members_.bump();
}

void Gangs::unchain(GangMember& member) noexcept {
  GangForce& force = *member.force;
  (member.previous_of_force != nullptr ? member.previous_of_force->next_of_force : force.first) = member.next_of_force;
  (member.next_of_force != nullptr ? member.next_of_force->previous_of_force : force.last) = member.previous_of_force;
  --force.size;
  members_.store_relaxed(members_.load_relaxed() - 1);
}

// --- cells ---

// Puts the member into a team, which may move as a whole. Without memory for that it stays outside the matrix, in the
// first column.
void Gangs::place(GangMember& member) noexcept {
  member.column = 0;
  GangForce::Team* team = team_with_room(*member.force);
  if (team == nullptr) return;
  const auto each_waiting = [team](auto&& change) {
    for (GangMatrix::Member* one = team->first; one != nullptr; one = one->next)
      if (auto& moved = static_cast<GangMember&>(*one); moved.waiting) change(moved);
  };
  each_waiting([this](GangMember& one) { unlist(one); });
  const bool placed = matrix_.add(*team, member);
  each_waiting([&](GangMember& one) {
    if (&one != &member) list(one);
  });
  if (!placed && team->size == 0) remove_team(*member.force, *team);
}

// Null: no memory for another team.
GangForce::Team* Gangs::team_with_room(GangForce& force) noexcept {
  if (force.teams != nullptr && force.teams->size < matrix_.columns()) return force.teams;
  auto* team = new (std::nothrow) GangForce::Team;
  if (team == nullptr) return nullptr;
  team->next = force.teams;
  force.teams = team;
  return team;
}

void Gangs::remove_team(GangForce& force, GangForce::Team& team) noexcept {
  GangForce::Team** link = &force.teams;
  while (*link != &team) link = &(*link)->next;
  *link = team.next;
  delete &team;
}

void Gangs::remove_from_team(GangMember& member) noexcept {
  auto* team = static_cast<GangForce::Team*>(member.team);
  if (team == nullptr) return;
  matrix_.remove(member);
  if (team->size == 0) remove_team(*member.force, *team);
}

// The number of Ps has changed: all members are placed anew, force by force.
void Gangs::fit(std::uint32_t columns) noexcept {
  if (WEFT_LIKELY(matrix_.columns() == columns)) return;
  const std::uint32_t before = matrix_.columns();
  for (std::uint32_t i = 0; i < before; ++i) {
    columns_[i].first = columns_[i].last = nullptr;
    columns_[i].waiting.store_relaxed(0);
  }
  matrix_.begin(columns);
  for (GangForce* force = forces_; force != nullptr; force = force->next) {
    while (GangForce::Team* team = force->teams) {
      force->teams = team->next;
      delete team;
    }
    for (GangMember* member = force->first; member != nullptr; member = member->next_of_force) {
      static_cast<GangMatrix::Member&>(*member) = {};
      member->next_waiting = member->previous_waiting = nullptr;
    }
  }
  for (GangForce* force = forces_; force != nullptr; force = force->next) {
    for (GangMember* member = force->first; member != nullptr; member = member->next_of_force) {
      place(*member);
      if (member->waiting) list(*member);
    }
    judge(*force);
  }
}

// --- waiting and running ---

std::uint32_t Gangs::wait(GangMember& member, Runnable runnable, std::uint32_t columns) noexcept {
  const std::lock_guard guard(lock_);
  fit(columns);
  WEFT_DCHECK(!member.waiting, "a goroutine becomes runnable once");
  member.waiting = runnable;
  list(member);
  return member.column;
}

Runnable Gangs::take(std::uint32_t column, std::uint32_t runs_on, std::uint32_t columns) noexcept {
  const std::lock_guard guard(lock_);
  fit(columns);
  auto* member = static_cast<GangMember*>(matrix_.at(turn_.load_relaxed(), column));
  if (member == nullptr || !member->waiting) member = columns_[column].first;
  if (member == nullptr) return Runnable();
  unlist(*member);
  stop(runs_on);
  start(*member, runs_on);
  return std::exchange(member->waiting, Runnable());
}

void Gangs::stop_running(std::uint32_t column) noexcept {
  const std::lock_guard guard(lock_);
  stop(column);
}

void Gangs::drain(std::uint32_t column, RunnableList& out) noexcept {
  const std::lock_guard guard(lock_);
  stop(column);
  while (GangMember* member = columns_[column].first) {
    unlist(*member);
    out.push(std::exchange(member->waiting, Runnable()));
  }
}

void Gangs::list(GangMember& member) noexcept {
  Column& column = columns_[member.column];
  member.next_waiting = nullptr;
  member.previous_waiting = column.last;
  (column.last != nullptr ? column.last->next_waiting : column.first) = &member;
  column.last = &member;
  column.waiting.bump();
}

void Gangs::unlist(GangMember& member) noexcept {
  Column& column = columns_[member.column];
  (member.previous_waiting != nullptr ? member.previous_waiting->next_waiting : column.first) = member.next_waiting;
  (member.next_waiting != nullptr ? member.next_waiting->previous_waiting : column.last) = member.previous_waiting;
  column.waiting.store_relaxed(column.waiting.load_relaxed() - 1);
}

void Gangs::start(GangMember& member, std::uint32_t column) noexcept {
  if (member.runs_on != GangMatrix::kNowhere) stop(member.runs_on);  // it left that P without asking for another there
  columns_[column].runs.store_relaxed(&member);
  member.runs_on = column;
  member.force->running.bump();
  judge(*member.force);
}

void Gangs::stop(std::uint32_t column) noexcept {
  GangMember* member = columns_[column].runs.load_relaxed();
  if (member == nullptr) return;
  columns_[column].runs.store_relaxed(nullptr);
  member->runs_on = GangMatrix::kNowhere;
  member->force->running.store_relaxed(member->force->running.load_relaxed() - 1);
  judge(*member->force);
}

// Is the force together now? Adds up for how long it was.
void Gangs::judge(GangForce& force) noexcept {
  const std::uint32_t all = std::min(force.size, matrix_.columns());
  const bool together = all >= 2 && force.running.load_relaxed() >= all;
  if (together == (force.together_since_ns != 0)) return;
  const std::int64_t now = os::now_ns();
  if (!together) together_ns_.bump(static_cast<std::uint64_t>(now - force.together_since_ns));
  force.together_since_ns = together ? now : 0;
}

// --- turns ---

void Gangs::begin_next_turn() noexcept {
  const std::lock_guard guard(lock_);
  const std::uint32_t turn = turn_.load_relaxed();
  std::uint32_t next = turn == kUngrouped ? 0 : turn + 1;
  while (next < matrix_.rows() && matrix_.row_is_empty(next)) ++next;
  turn_.store_relaxed(next < matrix_.rows() ? next : kUngrouped);
}

bool Gangs::wants_other(std::uint32_t column) noexcept {
  if (waiting(column) == 0) return false;
  const std::lock_guard guard(lock_);
  const auto* member = static_cast<const GangMember*>(matrix_.at(turn_.load_relaxed(), column));
  return member != nullptr && member->waiting;
}

}  // namespace weft::sched
