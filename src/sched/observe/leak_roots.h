// SPDX-License-Identifier: MIT
#pragma once

namespace weft::sched {

// Called at the end of a process. Without AddressSanitizer, whose leak checker it is for, it does nothing. Memory that
// a living goroutine points to is not leaked, but leak checkers look only at the stacks of threads. So this copies the
// live parts of all goroutine stacks into one mapping that the checker scans. Rejected: a root for each stack, because
// the checker would read the list of mappings once for each goroutine.
void show_stacks_to_leak_checkers() noexcept;

}  // namespace weft::sched
