// SPDX-License-Identifier: MIT
#include "trace_reader/timeline_order.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace weft::tools {
namespace {

std::vector<std::uint32_t> sort_ids(std::vector<std::uint64_t>& ids) {
  std::vector<std::uint32_t> order(ids.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return ids[a] < ids[b]; });
  std::vector<std::uint32_t> moved(ids.size());
  std::vector<std::uint64_t> sorted(ids.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    moved[order[i]] = i;
    sorted[i] = ids[order[i]];
  }
  ids = std::move(sorted);
  return moved;
}

void move(std::uint32_t& index, const std::vector<std::uint32_t>& moved) {
  if (index != kNoIndex) index = moved[index];
}

void sort_machines(Timeline& line) {
  const std::vector<std::uint32_t> ms = sort_ids(line.ms);
  const std::vector<std::uint32_t> ps = sort_ids(line.ps);
  for (GoSpan& span : line.spans) {
    move(span.m, ms);
    move(span.p, ps);
  }
  for (ProcSpan& span : line.proc_spans) {
    move(span.m, ms);
    move(span.p, ps);
  }
  for (Sample& sample : line.samples) {
    move(sample.m, ms);
    move(sample.p, ps);
  }
  std::sort(line.proc_spans.begin(), line.proc_spans.end(),
            [](const ProcSpan& a, const ProcSpan& b) { return a.p != b.p ? a.p < b.p : a.start < b.start; });
}

void sort_goroutines(Timeline& line) {
  std::vector<Goroutine>& goroutines = line.goroutines;
  std::vector<std::uint32_t> order(goroutines.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return goroutines[a].id != goroutines[b].id ? goroutines[a].id < goroutines[b].id : a < b;
  });
  std::vector<std::uint32_t> moved(order.size());
  std::vector<Goroutine> sorted;
  sorted.reserve(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    moved[order[i]] = i;
    sorted.push_back(goroutines[order[i]]);
  }
  goroutines = std::move(sorted);
  for (Goroutine& goroutine : goroutines) move(goroutine.creator, moved);
  for (Range& range : line.ranges) move(range.g, moved);
  for (Message& message : line.messages) move(message.g, moved);
  for (Sample& sample : line.samples) move(sample.g, moved);
  for (GoSpan& span : line.spans) {
    move(span.g, moved);
    move(span.by, moved);
  }
  // The spans of each goroutine are in order of time already.
  for (const GoSpan& span : line.spans) ++goroutines[span.g].spans;
  std::uint32_t first = 0;
  for (Goroutine& goroutine : goroutines) {
    goroutine.first_span = first;
    first += std::exchange(goroutine.spans, 0);
  }
  std::vector<GoSpan> by_goroutine(line.spans.size());
  for (const GoSpan& span : line.spans) {
    Goroutine& goroutine = goroutines[span.g];
    by_goroutine[goroutine.first_span + goroutine.spans++] = span;
  }
  line.spans = std::move(by_goroutine);
}

void sort_ranges(std::vector<Range>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::tie(a.start, b.end, a.kind, a.g, a.name, a.task) <
           std::tie(b.start, a.end, b.kind, b.g, b.name, b.task);
  });
}

}  // namespace

void put_in_order(Timeline& line) {
  sort_ranges(line.ranges);
  sort_machines(line);
  sort_goroutines(line);
}

}  // namespace weft::tools
