// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

namespace weft::os {

// Reads which CPUs this process may use; called at the start and once a second by sysmon.
void refresh_allowed_cpus() noexcept;
// The number of CPUs at the last refresh; 0: not known.
int allowed_cpu_count() noexcept;

// Called before waking thread `tid`: excludes the caller's CPU for it. The kernel likes to put a woken thread on its
// waker's CPU although another CPU is idle, and the thread then waits until the waker sleeps (2 ms instead of 45 us).
// True: the woken thread must call return_to_all_cpus() when it runs. Harmless where refused or with one CPU.
bool keep_off_this_cpu(pid_t tid) noexcept;
// The opposite, for a caller that is about to sleep: the woken thread is queued on this CPU and runs at once, not
// behind a thread that computes on the CPU where it slept last.
bool bring_to_this_cpu(pid_t tid) noexcept;
// 0: the calling thread.
void return_to_all_cpus(pid_t tid = 0) noexcept;

}  // namespace weft::os
