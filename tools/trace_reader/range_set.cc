// SPDX-License-Identifier: MIT
#include "trace_reader/range_set.h"

#include <algorithm>

namespace weft::tools {

std::string_view RangeSet::follow(trace::format::Event event, bool first_generation) {
  using trace::format::Event;
  const trace::format::EventSpec& spec = trace::format::spec(event);
  const Event begin = spec.begin == Event::kNoEvent ? event : spec.begin;
  const auto it = std::find(open_.begin(), open_.end(), begin);
  const bool open = it != open_.end();
  if (spec.begin == Event::kNoEvent) {
    if (open) return "the range is open already";
    open_.push_back(begin);
  } else if (spec.name.ends_with("Active")) {
    if (first_generation == open) return open ? "the range is open already" : "the range was never begun";
    if (!open) open_.push_back(begin);
  } else {
    if (!open) return "the range was never begun";
    open_.erase(it);
  }
  return {};
}

}  // namespace weft::tools
