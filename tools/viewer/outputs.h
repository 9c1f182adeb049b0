// SPDX-License-Identifier: MIT
#pragma once
#include <iosfwd>
#include <string_view>

#include "trace_reader/timeline.h"

// The ways to look at a trace. `name` is the file's, for titles.
namespace weft::tools {

void write_summary(std::ostream& out, const Timeline& line, std::string_view name);

// The JSON that Chrome's about:tracing and Perfetto open: lanes of Ps, Ms and goroutines,
// arrows for unblocks, counters.
void write_perfetto(std::ostream& out, const Timeline& line);

// One HTML file with everything in it.
void write_page(std::ostream& out, const Timeline& line, std::string_view name);

}  // namespace weft::tools
