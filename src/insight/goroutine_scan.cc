// SPDX-License-Identifier: MIT
#include "insight/goroutine_scan.h"

#include <algorithm>

#include "os/frame_record.h"
#include "sched/state/scheduler.h"

namespace weft::insight {
namespace {

struct Seen {
  sched::GStatus status;
  sched::WaitReason reason;
  std::int32_t site;
  std::uint32_t ms;
  std::uint64_t id;
};

// The fields belong to whoever owns the goroutine now, so they may change while they are read.
WEFT_READS_STACKS Seen look_at(const sched::Goroutine* g, std::uint32_t now_ms) noexcept {
  const auto* seen = static_cast<const volatile sched::Goroutine*>(g);
  Seen one{g->status.load_relaxed(), seen->wait_reason, seen->site, 0, seen->id};
  if (one.status == sched::GStatus::kWaiting) one.ms = std::min(now_ms - seen->wait_since_ms, ~std::uint32_t{0} / 2);
  return one;
}

}  // namespace

GoroutineScan scan_goroutines(std::size_t most_waiters) {
  GoroutineScan scan;
  std::map<std::pair<const char*, std::int32_t>, Group> groups;  // names are literals
  const std::uint32_t now_ms = sched::scheduler.coarse_ms.load_relaxed();
  sched::scheduler.stacks.for_each([&](const sched::Goroutine* g) {
    const Seen one = look_at(g, now_ms);
    if (one.status == sched::GStatus::kDead) return;
    const bool waits = one.status == sched::GStatus::kWaiting;
    const char* state = waits ? sched::name_of(one.reason) : sched::name_of(one.status);
    Group& group = groups[{state, one.site}];
    ++group.count;
    if (!waits) return;
    if (one.ms >= group.longest_ms) group.longest_ms = one.ms, group.longest_id = one.id;
    scan.longest.push_back({one.id, one.ms, state, one.site});
    if (scan.longest.size() < 2 * most_waiters + 16) return;
    std::ranges::nth_element(scan.longest, scan.longest.begin() + static_cast<std::ptrdiff_t>(most_waiters),
                             std::ranges::greater(), &Waiter::ms);
    scan.longest.resize(most_waiters);
  });
  std::ranges::sort(scan.longest, std::ranges::greater(), &Waiter::ms);
  if (scan.longest.size() > most_waiters) scan.longest.resize(most_waiters);
  for (const auto& [key, group] : groups) {
    scan.groups[{key.first, key.second}] = group;
    scan.states[key.first] += group.count;
  }
  return scan;
}

}  // namespace weft::insight
