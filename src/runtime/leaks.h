// SPDX-License-Identifier: MIT
#pragma once
#include "runtime/options.h"

namespace weft::runtime {

// At the exit, with the world stopped for good: writes what is leaked to standard error. kFail: if anything is, the
// process ends here, with status 3. Output that stdio still has is written before; destructors do not run.
void report_leaks_at_exit(LeakCheck check);

}  // namespace weft::runtime
