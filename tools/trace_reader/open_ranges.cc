// SPDX-License-Identifier: MIT
#include "trace_reader/open_ranges.h"

namespace weft::tools {

void OpenRanges::end_task(std::uint64_t id, std::int64_t now) {
  const auto it = tasks_.find(id);
  if (it == tasks_.end()) return;
  keep(it->second, now);
  tasks_.erase(it);
}

void OpenRanges::end_region(std::uint32_t g, const Range& unknown, std::int64_t now) {
  const auto it = regions_.find(g);
  if (it != regions_.end() && !it->second.empty()) {
    keep(it->second.back(), now);
    it->second.pop_back();
  } else {
    keep(unknown, now);
  }
}

void OpenRanges::end_regions_of(std::uint32_t g, std::int64_t now) {
  const auto it = regions_.find(g);
  if (it == regions_.end()) return;
  for (const Range& range : it->second) keep(range, now);
  regions_.erase(it);
}

void OpenRanges::end_all(std::int64_t now) {
  start_world(now);
  end_gc(now);
  for (const auto& [id, range] : tasks_) keep(range, now);
  for (const auto& [g, regions] : regions_) {
    for (const Range& range : regions) keep(range, now);
  }
  tasks_.clear();
  regions_.clear();
}

}  // namespace weft::tools
