// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>
#include <vector>

#include "trace/format.h"

namespace weft::tools {

// The ranges that are open on a goroutine or P: at most one of each kind.
class RangeSet {
 public:
  // Follows a Begin, Active or End event. Returns what is wrong with it; empty: nothing.
  std::string_view follow(trace::format::Event event, bool first_generation);

 private:
  std::vector<trace::format::Event> open_;  // the Begin events
};

}  // namespace weft::tools
