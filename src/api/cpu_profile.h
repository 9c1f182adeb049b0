// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace weft::api {

// A CPU profile that goes to no file. The runtime has started. Throws as debug::start_cpu_profile.
void begin_cpu_profile(int hz);
std::string end_cpu_profile();  // empty: none was begun

}  // namespace weft::api
