// SPDX-License-Identifier: MIT
#pragma once
#include "trace_reader/timeline.h"

namespace weft::tools {

// Sorts from the order in which a trace mentions things into the one that timeline.h promises: Ms, Ps and goroutines by
// number, spans by owner and time, ranges by time; indices follow.
void put_in_order(Timeline& line);

}  // namespace weft::tools
