// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "trace_reader/timeline.h"

namespace weft::tools {

// The named stretches of time that have begun and not ended. A range that ends goes to the timeline's ranges.
class OpenRanges {
 public:
  explicit OpenRanges(std::vector<Range>& ended) : ended_(ended) {}

  void begin_task(std::uint64_t id, Range range) { tasks_[id] = range; }
  void end_task(std::uint64_t id, std::int64_t now);
  void begin_region(Range range) { regions_[range.g].push_back(range); }
  // Takes `unknown` as the range if no begin is known, because it began before the trace.
  void end_region(std::uint32_t g, const Range& unknown, std::int64_t now);
  void end_regions_of(std::uint32_t g, std::int64_t now);

  void stop_world(Range range) { stop_ = range; }
  void start_world(std::int64_t now) { end_single(stop_, now); }
  void begin_gc(Range range) {
    if (!gc_) gc_ = range;
  }
  void end_gc(std::int64_t now) { end_single(gc_, now); }

  void end_all(std::int64_t now);

 private:
  void keep(Range range, std::int64_t now) {
    range.end = now;
    ended_.push_back(range);
  }
  void end_single(std::optional<Range>& range, std::int64_t now) {
    if (range) keep(*range, now);
    range.reset();
  }

  std::vector<Range>& ended_;
  std::map<std::uint64_t, Range> tasks_;
  std::map<std::uint32_t, std::vector<Range>> regions_;
  std::optional<Range> stop_, gc_;
};

}  // namespace weft::tools
