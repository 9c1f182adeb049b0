// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

namespace weft::insight {

// The live page: one file, which needs nothing but /data and /debug/pprof/ of the same server.
std::string_view page_html() noexcept;

}  // namespace weft::insight
