// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>

namespace weft::profile {

// Where a goroutine was started, from SpawnRecord::site: "server.cc:42", or the function if no line is known.
std::string spawn_site_text(std::int32_t site);

}  // namespace weft::profile
