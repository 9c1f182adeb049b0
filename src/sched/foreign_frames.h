// SPDX-License-Identifier: MIT
#pragma once
#include "sched/goroutine.h"

// Calls back from libraries: a goroutine that is preempted at a check may stand in a function that a library has called (a
// comparison, a function of a database), with a lock of the C library held or the address of a thread_local in a register. Such
// a library goes on as it is used to only on the thread it was called on.
//   Rule      who has code of other modules than the program on its stack when it is preempted is resumed by the same thread, as
//             are those stopped by signal (preempt.h). In statically linked programs nobody can tell.
//   Price     unwinding, under a microsecond per frame, once per slice. Very deep stacks are not looked through: their
//             goroutines stay on their thread, too.
namespace weft::sched {

// On the goroutine's own stack.
bool has_foreign_frames(Goroutine* g) noexcept;

}  // namespace weft::sched
