// SPDX-License-Identifier: MIT
#include "sched/observe/wait_graph.h"

#include <algorithm>
#include <unordered_set>

#include "sched/model/hooks.h"
#include "sched/observe/goroutine_name.h"

namespace weft::sched {
namespace {

std::string name_of_goroutine(const Goroutine* g) {
  char text[128];
  return std::string(text, describe_goroutine(g, text, sizeof text));
}

// The report's words for the holder of an object: between object and holder, and where the waiter is the holder itself.
struct Words {
  const char* link;
  const char* itself;
};
Words words_for(WaitReason reason) noexcept {
  if (reason == WaitReason::kJoin) return {" ", "itself"};
  if (reason == WaitReason::kOnce) return {", run by ", "itself: it calls it from inside the function"};
  return {", held by ", "itself: it locks it twice"};
}

bool waits_for_holder(const Goroutine* g) noexcept {
  if (g->status.load_relaxed() != GStatus::kWaiting) return false;
  const WaitReason reason = g->wait_reason;
  return reason == WaitReason::kMutex || reason == WaitReason::kSharedMutexRead ||
         reason == WaitReason::kSharedMutexWrite || reason == WaitReason::kJoin || reason == WaitReason::kOnce;
}

WaitFacts facts_of(const Goroutine* g) {
  WaitFacts facts;
  if (g->status.load_relaxed() == GStatus::kWaiting && g->wait_object != nullptr) hooks.tell_wait(g, facts);
  return facts;
}

}  // namespace

// The pages of a dead goroutine, its G among them, may be given back to the system at any time, even while the world is
// stopped (StackPool::trim). Then they read as zero.
WaitGraph::WaitGraph(const std::vector<Goroutine*>& live, const std::vector<Goroutine*>& dead) {
  for (const Goroutine* g : live) {
    by_id_.emplace(g->id, g);
    by_low_half_.emplace(static_cast<std::uint32_t>(g->id), g);
    newest_id_ = std::max(newest_id_, g->id);
  }
  for (const auto* list : {&live, &dead})
    for (const Goroutine* g : *list)
      for (const auto& read : g->reads) {
        const std::uint32_t lock = read.noted_lock(), who = read.noted_holder();
        if (lock != 0 && who != 0) readers_.emplace(lock, who);
      }
}

// The notes of dead goroutines may be out of date. They count only if all notes together are not more than the readers.
std::vector<std::uint32_t> WaitGraph::readers_of(const Goroutine* waiter, const WaitFacts& facts) const {
  std::vector<std::uint32_t> living, dead;
  const auto [begin, end] = readers_.equal_range(detail::shared_holds::low_half(waiter->wait_object));
  for (auto one = begin; one != end; ++one) (find(one->second) != nullptr ? living : dead).push_back(one->second);
  std::ranges::sort(living);
  std::ranges::sort(dead);
  if (living.size() + dead.size() <= facts.readers) living.insert(living.end(), dead.begin(), dead.end());
  return living;
}

const Goroutine* WaitGraph::find(std::uint32_t low_half) const {
  const auto found = by_low_half_.find(low_half);
  return found != by_low_half_.end() ? found->second : nullptr;
}

const Goroutine* WaitGraph::holder_in(const WaitFacts& facts) const {
  if (facts.holder_id == 0) return facts.holder != 0 ? find(facts.holder) : nullptr;
  const auto found = by_id_.find(facts.holder_id);
  return found != by_id_.end() ? found->second : nullptr;
}

// Only the low half of the id is known. The upper half is guessed: that of the newest id, or the one before if the id
// would be far newer than the newest.
std::string WaitGraph::name_of_dead(std::uint32_t low_half) const {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 32;
  std::uint64_t id = newest_id_ / kHalf * kHalf + low_half;
  if (id >= kHalf && id > newest_id_ + kHalf / 2) id -= kHalf;
  return "goroutine " + std::to_string(id);
}

std::string WaitGraph::holder_text(const Goroutine* g, const WaitFacts& facts) const {
  const Words words = words_for(g->wait_reason);
  const Goroutine* holder = holder_in(facts);
  if (holder == g) return std::string(words.link) + words.itself;
  if (holder != nullptr) return words.link + name_of_goroutine(holder) + origin_of(holder);
  if (facts.holder_id != 0)
    return words.link + ("goroutine " + std::to_string(facts.holder_id)) + ", which has not started yet";
  if (facts.holder == 0) return std::string(words.link) + "a plain thread";
  return words.link +
         ("nobody any more: " + name_of_dead(facts.holder) + " took it and has ended without unlocking it");
}

std::string WaitGraph::readers_text(const Goroutine* g, const WaitFacts& facts) const {
  const std::string count = std::to_string(facts.readers) + (facts.readers == 1 ? " reader" : " readers");
  std::string line = ", held by " + count;
  const std::vector<std::uint32_t> noted = readers_of(g, facts);
  if (noted.empty()) return line + (facts.readers == 1 ? ", which is not known" : ", which are not known");
  const char* separator = noted.size() <= facts.readers ? ": " : ", among ";
  for (const std::uint32_t low_half : noted) {
    const Goroutine* reader = find(low_half);
    line += separator;
    if (reader == nullptr)
      line += name_of_dead(low_half) + ", which has ended";
    else
      line += reader == g ? "itself" : name_of_goroutine(reader) + origin_of(reader);
    separator = ", ";
  }
  if (noted.size() < facts.readers)
    line += " and " + std::to_string(facts.readers - noted.size()) + " that are not known";
  return line;
}

std::string WaitGraph::line_for(const Goroutine* g) const {
  const WaitFacts facts = facts_of(g);
  if (facts.object.empty()) return {};
  std::string line = "waits for " + facts.object;
  if (facts.has_holder)
    line += holder_text(g, facts);
  else if (facts.readers > 0)
    line += readers_text(g, facts);
  if (facts.is_behind_writer)
    line += "; behind " + (facts.writer != nullptr ? name_of_goroutine(facts.writer) : "a plain thread") +
            ", which waits to write";
  if (!facts.more.empty()) line += ", " + facts.more;
  return line;
}

WaitGraph::Step WaitGraph::step_to(const Goroutine* g) const {
  Step step{g, {}, {}};
  if (!waits_for_holder(g)) return step;
  const WaitFacts facts = facts_of(g);
  step.object = facts.object;
  if (facts.has_holder) {
    if (const Goroutine* holder = holder_in(facts)) step.edges.push_back({holder, words_for(g->wait_reason).link});
  } else if (facts.is_behind_writer) {
    if (facts.writer != nullptr) step.edges.push_back({facts.writer, ", behind "});
  } else if (const auto noted = readers_of(g, facts); noted.size() <= facts.readers) {
    for (const std::uint32_t low_half : noted)
      if (const Goroutine* reader = find(low_half)) step.edges.push_back({reader, ", read by "});
  }
  return step;
}

// A depth-first search without recursion, because a chain of waiters may be as long as there are goroutines.
std::string WaitGraph::cycles() const {
  std::string text;
  std::vector<const Goroutine*> starts;
  for (const auto& [id, g] : by_id_)
    if (waits_for_holder(g)) starts.push_back(g);
  std::ranges::sort(starts, {}, &Goroutine::id);
  std::unordered_set<const Goroutine*> seen, told;
  std::vector<Step> path;
  const auto tell = [&](const Goroutine* first) {
    const auto begin = std::ranges::find(path, first, &Step::g);
    if (std::any_of(begin, path.end(), [&](const Step& step) { return told.contains(step.g); })) return;
    text += "deadlock cycle: " + name_of_goroutine(first);
    for (auto step = begin; step != path.end(); ++step) {
      told.insert(step->g);
      const Edge& edge = step->edges[step->next - 1];
      text += (step == begin ? " waits for " : ", which waits for ") + step->object + edge.link +
              (edge.to == step->g ? "itself" : name_of_goroutine(edge.to));
    }
    text += "\n";
  };
  for (const Goroutine* start : starts) {
    if (!seen.insert(start).second) continue;
    path.push_back(step_to(start));
    while (!path.empty()) {
      Step& last = path.back();
      if (last.next == last.edges.size()) {
        path.pop_back();
        continue;
      }
      const Goroutine* to = last.edges[last.next++].to;
      if (std::ranges::find(path, to, &Step::g) != path.end())
        tell(to);
      else if (seen.insert(to).second)
        path.push_back(step_to(to));
    }
  }
  return text;
}

}  // namespace weft::sched
