// SPDX-License-Identifier: MIT
#include "os/current.h"

#include <cstddef>

// C linkage and "used": the assembly in current.h names it, and link-time optimisation does not read assembly.
extern "C" {
__attribute__((used, visibility("default"), tls_model("initial-exec"))) thread_local constinit weft::os::Current
    weft_current{};
}

static_assert(offsetof(weft::os::Current, g) == 0 && offsetof(weft::os::Current, p) == 8 &&
                  offsetof(weft::os::Current, m) == 16 && offsetof(weft::os::Current, lane) == 24,
              "current.h's assembly knows these offsets");
