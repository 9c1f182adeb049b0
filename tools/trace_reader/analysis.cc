// SPDX-License-Identifier: MIT
#include "trace_reader/analysis.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "trace_reader/text.h"

namespace weft::tools {
namespace {

constexpr std::size_t kLongest = 20;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::vector<std::uint32_t> longest(const Timeline& line, GoState state) {
  std::vector<std::uint32_t> spans;
  for (std::uint32_t i = 0; i < line.spans.size(); ++i) {
    // A span that lasted the whole trace, or was cut by its end, says nothing about how long it takes.
    if (line.spans[i].state == state && !line.spans[i].open) spans.push_back(i);
  }
  const auto longer = [&](std::uint32_t a, std::uint32_t b) {
    const std::int64_t x = line.spans[a].end - line.spans[a].start;
    const std::int64_t y = line.spans[b].end - line.spans[b].start;
    return x != y ? x > y : a < b;
  };
  const std::size_t kept = std::min(spans.size(), kLongest);
  std::partial_sort(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(kept), spans.end(), longer);
  spans.resize(kept);
  return spans;
}

std::uint64_t most_alive(const Timeline& line) {
  std::vector<std::pair<std::int64_t, int>> changes;
  for (const Goroutine& goroutine : line.goroutines) {
    changes.emplace_back(goroutine.start, 1);
    if (goroutine.ended) changes.emplace_back(goroutine.end, -1);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t now = 0;
  std::int64_t most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, now += change);
  return static_cast<std::uint64_t>(most);
}

// Each goroutine in exile computes in place of one idle P, as long as there are idle ones.
std::int64_t covered_by_exiles(const Timeline& line) {
  struct Change {
    std::int64_t time;
    int exiles, idle;
  };
  std::vector<Change> changes;
  for (const GoSpan& span : line.spans) {
    if (span.state != GoState::kExiled || span.p != kNoIndex) continue;
    changes.push_back({span.start, 1, 0});
    changes.push_back({span.end, -1, 0});
  }
  if (changes.empty()) return 0;
  for (const ProcSpan& span : line.proc_spans) {
    if (span.state != ProcState::kIdle) continue;
    changes.push_back({span.start, 0, 1});
    changes.push_back({span.end, 0, -1});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.time < b.time; });
  std::int64_t covered = 0, exiles = 0, idle = 0, last = 0;
  for (const Change& change : changes) {
    std::int64_t more = 0;
    if (__builtin_mul_overflow(change.time - last, std::min(exiles, idle), &more)) more = kMost;
    add_time(covered, more);
    last = change.time;
    exiles += change.exiles;
    idle += change.idle;
  }
  return covered;
}

}  // namespace

void Histogram::add(std::int64_t ns) {
  const auto width =
      static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 1))));
  ++buckets[std::min(width - 1, buckets.size() - 1)];
  ++count;
  longest = std::max(longest, ns);
}

Analysis analyse(const Timeline& line) {
  Analysis result;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, bool>, std::size_t> index;
  std::vector<std::size_t> group_of(line.goroutines.size());
  for (std::uint32_t g = 0; g < line.goroutines.size(); ++g) {
    const Goroutine& goroutine = line.goroutines[g];
    const auto [it, fresh] = index.try_emplace(
        {goroutine.function, goroutine.site.file, goroutine.site.line, goroutine.created}, result.groups.size());
    if (fresh) {
      SpawnGroup group;
      group.function = goroutine.function;
      group.site = goroutine.site;
      group.created = goroutine.created;
      result.groups.push_back(std::move(group));
    }
    SpawnGroup& group = result.groups[it->second];
    group_of[g] = it->second;
    group.goroutines.push_back(g);
    for (std::size_t i = 0; i < kGoStates; ++i) add_time(group.time[i], goroutine.time[i]);
  }
  std::map<std::uint32_t, WaitReason> waits;
  for (const GoSpan& span : line.spans) {
    const std::int64_t length = span.end - span.start;
    if (span.state == GoState::kRunnable && !span.open) {
      result.latency.add(length);
      result.latencies.push_back(length);
      result.groups[group_of[span.g]].latency.add(length);
    } else if (span.state == GoState::kWaiting) {
      WaitReason& wait = waits[span.reason];
      wait.reason = span.reason;
      ++wait.count;
      add_time(wait.time, length);
    }
  }
  for (const auto& [reason, wait] : waits) result.waits.push_back(wait);
  std::sort(result.waits.begin(), result.waits.end(),
            [](const auto& a, const auto& b) { return a.time != b.time ? a.time > b.time : a.reason < b.reason; });
  std::sort(result.latencies.begin(), result.latencies.end());
  const auto computed = [](const SpawnGroup& group) {
    std::int64_t time = group.time[static_cast<std::size_t>(GoState::kRunning)];
    add_time(time, group.time[static_cast<std::size_t>(GoState::kExiled)]);
    return time;
  };
  std::sort(result.groups.begin(), result.groups.end(), [&](const SpawnGroup& a, const SpawnGroup& b) {
    return computed(a) != computed(b) ? computed(a) > computed(b) : a.goroutines.front() < b.goroutines.front();
  });
  result.longest_waits = longest(line, GoState::kWaiting);
  result.longest_latencies = longest(line, GoState::kRunnable);
  for (const ProcSpan& span : line.proc_spans) {
    const std::int64_t length = span.end - span.start;
    add_time(result.p_time, length);
    if (span.state == ProcState::kRunning) add_time(result.busy, length);
    if (span.state == ProcState::kInCall) add_time(result.in_call, length);
  }
  for (const SpawnGroup& group : result.groups)
    add_time(result.exiled, group.time[static_cast<std::size_t>(GoState::kExiled)]);
  result.covered = covered_by_exiles(line);
  result.most_alive = most_alive(line);
  return result;
}

std::string site_text(const Timeline& line, const SpawnGroup& group) {
  std::string text = group.function != 0 ? visible(line.text(group.function)) : "(function not known)";
  if (!group.created) return text + ", from before the trace";
  if (group.site.file != 0) {
    std::string file = line.text(group.site.file);
    file.erase(0, file.find_last_of('/') + 1);
    text += ", created at " + visible(file) + ":" + std::to_string(group.site.line);
  } else if (group.site.function != 0) {
    text += ", created in " + visible(line.text(group.site.function));
  }
  return text;
}

}  // namespace weft::tools
