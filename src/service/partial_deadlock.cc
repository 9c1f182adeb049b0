// SPDX-License-Identifier: MIT
#include "service/partial_deadlock.h"

#include <algorithm>
#include <compare>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/atomic.h"
#include "base/check.h"
#include "os/clock.h"
#include "sched/observe/dump.h"
#include "sched/observe/leak_graph.h"
#include "sched/state/scheduler.h"
#include "sched/world/world.h"

namespace weft::service {
namespace {

using sched::Goroutine;
using sched::scheduler;

constexpr std::int64_t kPeriodNs = 250'000'000;
constexpr std::int64_t kShare = 1000;  // of the time, one part is for looking

struct LongWait {
  Goroutine* g;
  std::uint64_t id;
  const void* object;
  std::uint32_t since_ms;
  auto operator<=>(const LongWait&) const = default;
};

bool waits_for_holder(const Goroutine* g) noexcept {
  using enum sched::WaitReason;
  if (g->status.load_relaxed() != sched::GStatus::kWaiting) return false;
  const sched::WaitReason reason = g->wait_reason;
  return reason == kMutex || reason == kSharedMutexRead || reason == kSharedMutexWrite || reason == kJoin ||
         reason == kOnce;
}

// Reads goroutines that may run meanwhile. What it finds is compared only, and looked at when the world has stopped.
__attribute__((no_sanitize("thread"))) std::vector<LongWait> waits_now() {
  std::vector<LongWait> found;
  scheduler.stacks.for_each([&](Goroutine* g) {
    if (waits_for_holder(g)) found.push_back({g, g->id, g->wait_object, g->wait_since_ms});
  });
  std::ranges::sort(found);
  return found;
}

class CycleWatch {
 public:
  void set_fatal() { fatal_.store_relaxed(true); }

  void look(std::int64_t now) {
    if (now < next_ns_) return;
    const std::vector<LongWait> present = waits_now();
    std::vector<LongWait> stable, fresh;
    std::ranges::set_intersection(present, before_, std::back_inserter(stable));
    std::ranges::set_difference(stable, examined_, std::back_inserter(fresh));
    if (!fresh.empty() && !scheduler.exiting.load_relaxed()) examine();
    examined_ = std::move(stable);
    before_ = present;
    const std::int64_t end = os::now_ns();
    next_ns_ = end + std::max(kPeriodNs, (end - now) * kShare);
  }

 private:
  void examine() {
    sched::stop_the_world();
    std::string text = describe_new_cycles();
    sched::start_the_world();
    if (text.empty()) return;
    const bool fatal = fatal_.load_relaxed();
    text = (fatal ? "fatal error: goroutines wait for each other - deadlock!\n\n"
                  : "weft: goroutines wait for each other while others go on - partial deadlock\n\n") +
           text;
    base::write_stderr(text.data(), text.size());
    if (!fatal) return;
    base::run_last_words();
    std::_Exit(2);
  }

  std::string describe_new_cycles() {
    sched::LeakGraph graph;
    std::string text;
    if (!graph.open()) return text;
    for (std::uint32_t i = 0; i < sched::maxprocs(); ++i)
      scheduler.processors[i]->timers.for_each([&](Goroutine* sleeper) { graph.set_timed(sleeper); },
                                               [&](const void* timer) { graph.set_timed_by(timer); });
    graph.find_cycles();
    std::vector<Goroutine*> members;
    graph.for_each_in_cycle([&](Goroutine* g) {
      if (told_.insert(g->id).second) members.push_back(g);
    });
    if (members.empty()) return text;
    sched::dump_members(members, [](void* to, std::string_view part) { static_cast<std::string*>(to)->append(part); },
                        &text);
    return text;
  }

  std::vector<LongWait> before_, examined_;
  std::unordered_set<std::uint64_t> told_;  // goroutines in cycles that were reported
  std::int64_t next_ns_ = 0;
  base::Atom<bool> fatal_{false};
};

// Never destroyed: sysmon goes on while the process exits.
CycleWatch& watch() {
  alignas(CycleWatch) static constinit std::byte place[sizeof(CycleWatch)]{};
  static constinit CycleWatch* made = nullptr;
  if (made == nullptr) made = ::new (static_cast<void*>(place)) CycleWatch;
  return *made;
}

}  // namespace

void make_partial_deadlocks_fatal() { watch().set_fatal(); }
void look_for_partial_deadlocks(std::int64_t now_ns) { watch().look(now_ns); }

}  // namespace weft::service
