// SPDX-License-Identifier: MIT
#pragma once

namespace weft::sched {

// For the end of a process with a leak checker (elsewhere it does nothing): goroutines that have not ended hold what they
// point to, but checkers look only at the stacks of threads. They are shown one copy of all live parts of goroutine stacks:
// a root for each stack would make them read the list of mappings once a goroutine.
void show_stacks_to_leak_checkers() noexcept;

}  // namespace weft::sched
