// SPDX-License-Identifier: MIT
#include "sched/wait_graph.h"

#include <algorithm>
#include <iterator>

#include "sched/dump.h"
#include "sched/hooks.h"

namespace weft::sched {
namespace {

std::uint32_t low_half(const void* address) noexcept {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(address));
}

// Read once: the pages of a dead one, itself among them, may be given back to the system at any time, stopped world or not (StackPool::trim). Null: they
// have been.
const std::byte* stack_of(const Goroutine* g) noexcept {
  return *const_cast<const std::byte* const volatile*>(&g->stack_bottom);
}

std::string name_of_goroutine(const Goroutine* g) {
  char text[128];
  return std::string(text, describe_goroutine(g, text, sizeof text));
}

// What the holder does with what is waited for.
struct Words {
  const char* link;
  const char* itself;
  bool may_forget;  // to unlock: then who is named may be a successor on the same stack
};
Words words_for(WaitReason reason) noexcept {
  if (reason == WaitReason::kJoin) return {" ", "itself", false};
  if (reason == WaitReason::kOnce) return {", run by ", "itself: it calls it from inside the function", false};
  return {", held by ", "itself: it locks it twice", true};
}

WaitFacts facts_of(const Goroutine* g) {
  WaitFacts facts;
  if (g->status.load_relaxed() == GStatus::kWaiting && g->wait_object != nullptr) hooks.tell_wait(g, facts);
  return facts;
}

}  // namespace

WaitGraph::WaitGraph(const std::vector<Goroutine*>& live, const std::vector<Goroutine*>& dead) {
  by_stack_.reserve(live.size() + dead.size());
  for (const auto* list : {&live, &dead})
    for (Goroutine* g : *list)
      if (const std::byte* bottom = stack_of(g); bottom != nullptr) by_stack_.push_back({low_half(bottom), g});
  std::ranges::sort(by_stack_, {}, &Stack::bottom);
  for (const Goroutine* g : live) by_id_.emplace(g->id, g);
}

bool WaitGraph::waits_for_holder(const Goroutine* g) noexcept {
  if (g->status.load_relaxed() != GStatus::kWaiting) return false;
  const WaitReason reason = g->wait_reason;
  return reason == WaitReason::kMutex || reason == WaitReason::kSharedMutexRead ||
         reason == WaitReason::kSharedMutexWrite || reason == WaitReason::kJoin || reason == WaitReason::kOnce;
}

WaitGraph::Holder WaitGraph::holder_in(const WaitFacts& facts) const {
  if (facts.holder_id != 0) {
    const auto found = by_id_.find(facts.holder_id);
    if (found != by_id_.end()) return {found->second, true, {}};
    return {nullptr, true, "goroutine " + std::to_string(facts.holder_id) + ", which has not started yet"};
  }
  const std::uint32_t stack = facts.holder_stack;
  const auto above = std::ranges::upper_bound(by_stack_, stack, {}, &Stack::bottom);
  if (above == by_stack_.begin()) return {nullptr, true, "a plain thread"};
  const auto [bottom, g] = *std::prev(above);
  if (stack - bottom >= low_half(g->stack_top()) - bottom) return {nullptr, true, "a plain thread"};
  const void* sp = g->sp.load_acquire();  // pairs: goroutine.sp
  if (g->status.load_relaxed() == GStatus::kDead || (sp != nullptr && stack - bottom < low_half(sp) - bottom))
    return {nullptr, true, "nobody any more: who took it has returned or ended without unlocking it"};
  return {g, g->tenants <= 1, {}};
}

const Goroutine* WaitGraph::next_of(const Goroutine* g) const {
  if (!waits_for_holder(g)) return nullptr;
  const WaitFacts facts = facts_of(g);
  return facts.has_holder ? holder_in(facts).g : nullptr;
}

std::string WaitGraph::line_for(const Goroutine* g) const {
  const WaitFacts facts = facts_of(g);
  if (facts.object.empty()) return {};
  std::string line = "waits for " + facts.object;
  if (facts.has_holder) {
    const Words words = words_for(g->wait_reason);
    const Holder holder = holder_in(facts);
    line += words.link;
    if (holder.g == g) {
      line += words.itself;
    } else {
      line += holder.g != nullptr ? name_of_goroutine(holder.g) : holder.text;
    }
    if (!holder.is_certain && words.may_forget)
      line += " (or by one that ran on its stack before and ended without unlocking)";
    if (holder.g != nullptr && holder.g != g) line += origin_of(holder.g);
  } else if (!facts.holders.empty()) {
    line += ", " + facts.holders;
  }
  return line;
}

std::string WaitGraph::cycles() const {
  std::string text;
  std::unordered_map<const Goroutine*, std::uint64_t> seen;  // in which walk
  std::uint64_t walk = 0;
  std::vector<const Goroutine*> starts;
  for (const auto& [id, g] : by_id_)
    if (waits_for_holder(g)) starts.push_back(g);
  std::ranges::sort(starts, {}, &Goroutine::id);
  for (const Goroutine* start : starts) {
    ++walk;
    const Goroutine* g = start;
    while (g != nullptr && seen.emplace(g, walk).second) g = next_of(g);
    if (g == nullptr || seen[g] != walk) continue;  // an end, or a cycle told already
    const Goroutine* first = g;
    std::string line = "deadlock cycle: " + name_of_goroutine(first);
    do {
      line += g == first ? " waits for " : ", which waits for ";
      const WaitFacts facts = facts_of(g);
      const Words words = words_for(g->wait_reason);
      g = next_of(g);
      line += facts.object + words.link + (g == first && g == next_of(first) ? "itself" : name_of_goroutine(g));
    } while (g != first);
    text += line + "\n";
  }
  return text;
}

}  // namespace weft::sched
