// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

namespace weft::insight {

// A JSON string. Control characters, markup and bytes beyond ASCII's end that are no UTF-8 are escaped.
std::string json_string(std::string_view text);

// What the page and `weft top` show: counters, groups of goroutines, the longest waits. Stops nothing.
std::string live_data();

}  // namespace weft::insight
