// SPDX-License-Identifier: MIT
#pragma once
#include "profile/pprof.h"

namespace weft::api {

// Goroutines that nothing can wake any more (service/leaks.h), by their stacks. From any goroutine or thread, outside of
// stop_the_world().
profile::Profile leak_profile();

}  // namespace weft::api
