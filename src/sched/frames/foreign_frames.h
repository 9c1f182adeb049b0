// SPDX-License-Identifier: MIT
#pragma once
#include "sched/model/goroutine.h"

// Calls back from libraries: a goroutine that is preempted at a check may stand in a function that a library has called (a
// comparison, a function of a database), with a lock of the C library held or the address of a thread_local in a register. Such
// a library goes on as it is used to only on the thread it was called on.
//   Rule      who has code of other modules than the program on its stack when it is preempted is resumed by the same thread, as
//             are those stopped by signal (preempt.h). In statically linked programs nobody can tell.
//   Handlers  of signals, installed without SA_ONSTACK, run on the goroutine's stack, in the middle of anything: of the runtime, too,
//             with its locks held. There nobody gives way.
//   Runtime   code of the runtime has no checks, but calls functions that do: what is inline in the headers that the program also
//             includes (the linker takes the program's copy), an operator new of the program's. Whoever was called by the
//             runtime, with a lock of its held or a P in its hands, does not give way.
//   Price     unwinding, under a microsecond per frame, once per slice. Very deep stacks are not looked through: their
//             goroutines stay on their thread, too.
namespace weft::sched {

struct FramesOnStack {
  bool foreign = false;     // code of other modules, or more than anybody looked at
  bool in_handler = false;  // of a signal
  bool in_runtime = false;  // called by it, or nobody may look any more (unwinding.h)
  bool may_give_way() const noexcept { return !in_handler && !in_runtime; }
};
// Once, before there are goroutines. Not at the first look: a signal handler's check may come in the middle of it and look,
// too (tools/lint/check_lazy.py).
void find_program_code() noexcept;

// On the goroutine's own stack.
FramesOnStack look_at_frames(const Goroutine* g) noexcept;

}  // namespace weft::sched
