// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

namespace weft::os {

// Does this thread of the process sleep in a system call, rather than compute or wait for a CPU? Takes about 10 us,
// and no lock of the C library. False where /proc is missing.
bool thread_sleeps(pid_t thread) noexcept;

}  // namespace weft::os
