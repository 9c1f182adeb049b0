// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "profile/pprof.h"

namespace weft::api {

// A CPU profile that goes to no file. The runtime has started. Throws as debug::start_cpu_profile.
void begin_cpu_profile(int hz);
std::optional<profile::Profile> end_cpu_profile();  // nothing: none was begun

}  // namespace weft::api
