// SPDX-License-Identifier: MIT
#include "sched/observe/leak_graph.h"

#include <algorithm>

#include "sched/state/scheduler.h"

namespace weft::sched {
namespace {

// Waits that no other goroutine ends.
bool ends_by_itself(WaitReason reason) noexcept {
  using enum WaitReason;
  return reason == kNone || reason == kSleep || reason == kStopTheWorld || reason == kRead || reason == kWrite ||
         reason == kIo || reason == kSignal;
}

bool is_member(const Goroutine* g) noexcept {
  return g->status.load_relaxed() == GStatus::kWaiting && g->sp.load_acquire() != nullptr &&  // pairs: goroutine.sp
         !ends_by_itself(g->wait_reason);
}

std::uint32_t low_half(std::uint64_t id) noexcept { return static_cast<std::uint32_t>(id); }

}  // namespace

bool LeakGraph::open() noexcept {
  std::size_t goroutines = 0;
  scheduler.stacks.for_each([&](const Goroutine*) { ++goroutines; });
  room_ = goroutines + 1;
  const auto reserve = [](std::size_t bytes) { return os::reserve_memory(bytes, "weft leak search"); };
  members_ = static_cast<Member*>(reserve(room_ * sizeof(Member)));
  by_id_ = static_cast<ById*>(reserve(room_ * sizeof(ById)));
  if (members_ == nullptr || by_id_ == nullptr) return false;
  scheduler.stacks.for_each([&](Goroutine* g) {
    if (g->status.load_relaxed() == GStatus::kDead) return;
    by_id_[all_++] = {g->id, g};
    if (!is_member(g)) return;
    members_[count_++].g = g;  // the rest is zero
    hooks.tell_wakers(g, [](void* raw, const WakeSource&) { ++*static_cast<std::size_t*>(raw); }, &wakers_);
  });
  follows_ = static_cast<Follow*>(reserve((wakers_ + 1) * sizeof(Follow)));
  if (follows_ == nullptr) return false;
  std::sort(members_, members_ + count_, [](const Member& one, const Member& other) { return one.g < other.g; });
  std::sort(by_id_, by_id_ + all_, [](const ById& one, const ById& other) {
    return low_half(one.id) != low_half(other.id) ? low_half(one.id) < low_half(other.id) : one.id < other.id;
  });
  return true;
}

LeakGraph::~LeakGraph() {
  if (members_ != nullptr) os::release_memory(members_, room_ * sizeof(Member));
  if (by_id_ != nullptr) os::release_memory(by_id_, room_ * sizeof(ById));
  if (follows_ != nullptr) os::release_memory(follows_, (wakers_ + 1) * sizeof(Follow));
}

LeakGraph::Member* LeakGraph::find(const Goroutine* g) const noexcept {
  Member* one =
      std::lower_bound(members_, members_ + count_, g, [](const Member& member, const Goroutine* at) { return member.g < at; });
  return one != members_ + count_ && one->g == g ? one : nullptr;
}

Goroutine* LeakGraph::goroutine_of(const WakeSource& waker) const noexcept {
  const ById* one = std::lower_bound(by_id_, by_id_ + all_, low_half(waker.id), [](const ById& each, std::uint32_t low) {
    return low_half(each.id) < low;
  });
  for (; one != by_id_ + all_ && low_half(one->id) == low_half(waker.id); ++one)
    if (!waker.is_whole || one->id == waker.id) return one->g;
  return nullptr;
}

void LeakGraph::set_timed(Goroutine* sleeper) noexcept {
  if (Member* member = find(sleeper)) member->is_timed = true;
}

void LeakGraph::set_timed_by(const void* timer) noexcept {
  const StackPool::Place place = scheduler.stacks.find(timer);
  if (place.g != nullptr && timer < static_cast<const void*>(place.g)) set_timed(place.g);
}

// Each member has one holder at most, so each walk along the holders meets itself or ends.
void LeakGraph::find_cycles() noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    Member& member = members_[i];
    struct Context {
      LeakGraph* graph;
      Member* member;
      std::size_t wakers = 0;
    } context{this, &member};
    hooks.tell_wakers(member.g, [](void* raw, const WakeSource& waker) {
      auto& to = *static_cast<Context*>(raw);
      const bool has_holder = waker.kind == WakeSource::Kind::kLock || waker.kind == WakeSource::Kind::kGoroutine;
      const Goroutine* holder = has_holder ? to.graph->goroutine_of(waker) : nullptr;
      to.member->holder = ++to.wakers == 1 && holder != nullptr ? to.graph->find(holder) : nullptr;
    }, &context);
    if (member.is_timed) member.holder = nullptr;
  }
  for (std::size_t i = 0; i < count_; ++i) {
    Member* slow = &members_[i];
    if (slow->was_walked) continue;
    Member* at = slow;
    while (at != nullptr && !at->was_walked) {
      at->was_walked = true;
      at->next_awake = slow;  // borrowed: this walk's name
      at = at->holder;
    }
    if (at == nullptr || (at->next_awake != slow && !at->is_doomed)) continue;
    if (!at->is_doomed)
      for (Member* round = at; !round->is_doomed; round = round->holder) round->is_doomed = round->is_in_cycle = true;
    for (Member* before = slow; !before->is_doomed; before = before->holder) before->is_doomed = true;
  }
  for (std::size_t i = 0; i < count_; ++i) members_[i].next_awake = nullptr;
}


void LeakGraph::awake(Member& member) noexcept {
  if (member.is_awake || member.is_doomed) return;
  member.is_awake = true;
  member.next_awake = awake_;
  awake_ = &member;
}

void LeakGraph::follow(Member& member, const Goroutine* leader) noexcept {
  Member* ahead = find(leader);
  if (ahead == nullptr || ahead->is_awake) return awake(member);
  follows_[follow_count_] = {&member, ahead->followers};  // one for each waker at most
  ahead->followers = &follows_[follow_count_++];
}

void LeakGraph::follow_by_id(Member& member, const WakeSource& waker) noexcept {
  const Goroutine* g = goroutine_of(waker);
  if (g == nullptr) return awake(member);  // it has not started, or has just ended
  follow(member, g);
}

void LeakGraph::reach_stack(Goroutine* g, std::uintptr_t address) noexcept {
  if (address >= reinterpret_cast<std::uintptr_t>(g)) return;  // the G itself: only the runtime has its address
  Member* member = find(g);
  if (member == nullptr || member->is_awake) return;
  if (address >= reinterpret_cast<std::uintptr_t>(g->sp.load_acquire())) awake(*member);  // pairs: goroutine.sp
}

LeakGraph::Member* LeakGraph::next_awake() noexcept {
  Member* member = awake_;
  if (member == nullptr) return nullptr;
  awake_ = member->next_awake;
  for (const Follow* one = member->followers; one != nullptr; one = one->next) awake(*one->member);
  return member;
}

std::size_t LeakGraph::collect(Goroutine** out, std::size_t max) const noexcept {
  std::size_t found = 0;
  for (std::size_t i = 0; i < count_ && found < max; ++i)
    if (!members_[i].is_awake) out[found++] = members_[i].g;
  return found;
}

}  // namespace weft::sched
