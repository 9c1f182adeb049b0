// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>
#include <vector>

#include "trace/format.h"

namespace weft::tools {

// The ranges that are open on a goroutine or P: of each kind one at most.
class RangeSet {
 public:
  // A Begin, Active or End event. Says what is wrong with it; empty: nothing, and it has been followed.
  std::string_view follow(trace::format::Event event, bool first_generation);

 private:
  std::vector<trace::format::Event> open_;  // the Begin events
};

}  // namespace weft::tools
