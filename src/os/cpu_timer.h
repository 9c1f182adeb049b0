// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>
#include <cstdint>

#include "os/self_signal.h"

namespace weft::os {

// A timer that sends the thread the signal each time it has used so much CPU time, with `value` and SI_TIMER. kNoTimer:
// the thread is gone, or the kernel has no timer left. Ended by delete_timer().
int start_cpu_timer(pid_t thread, std::int64_t period_ns, int signal, void* value) noexcept;

}  // namespace weft::os
