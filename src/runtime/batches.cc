// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>
#include <vector>

#include "api/start.h"
#include "sched/state/batch_members.h"
#include "sched/state/scheduler.h"
#include "weft/runtime.h"

namespace weft::runtime {
namespace {

using sched::BatchMembers;
using Member = std::pair<std::uint32_t, std::uint64_t>;  // batch, goroutine

std::vector<Member> members() {
  std::vector<Member> all;
  sched::scheduler.stacks.for_each([&](const sched::Goroutine* g) {
    const std::uint32_t batch = BatchMembers::batch_of(g);
    if (batch != 0 && g->status.load_relaxed() != sched::GStatus::kDead) all.emplace_back(batch, g->id);
  });
  std::ranges::sort(all);
  return all;
}

batch_info describe(std::uint32_t batch) {
  const BatchMembers::Record& record = sched::batch_members.record(batch);
  batch_info info;
  info.id = record.id;
  info.meetings = record.meetings.load_relaxed();
  info.processor = static_cast<int>(record.processor.load_relaxed());
  for (std::uint32_t i = 0; i < BatchMembers::kChannels && record.channels[i].load_relaxed() != nullptr; ++i)
    info.channels.emplace_back(record.names[i]);
  return info;
}

// With the world stopped.
std::vector<batch_info> collect() {
  std::vector<batch_info> result;
  if (!sched::policy().forms_batches()) return result;
  const std::vector<Member> all = members();
  for (std::size_t first = 0, end; first < all.size(); first = end) {
    for (end = first + 1; end < all.size() && all[end].first == all[first].first;) ++end;
    if (end - first < 2) continue;  // the others have ended or left
    batch_info info = describe(all[first].first);
    for (std::size_t i = first; i < end; ++i) info.members.emplace_back(all[i].second);
    result.push_back(std::move(info));
  }
  std::ranges::sort(result, {}, &batch_info::id);
  return result;
}

}  // namespace

std::vector<batch_info> batches() {
  api::ensure_started();
  return stop_the_world(collect);
}

}  // namespace weft::runtime
