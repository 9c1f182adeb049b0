// SPDX-License-Identifier: MIT
#pragma once
#include "sched/model/goroutine.h"

// What else is on the stack of a goroutine that is preempted at a check. The check may be in a callback: a function
// that a library has called (a comparison, a function of a database). The library may hold a lock of the C library, or
// have the address of a thread_local in a register. So it has to go on on the thread it was called on.
//   Rule      A goroutine that has code of other modules than the program on its stack when it is preempted is resumed
//             by the same thread, as are goroutines stopped by signal (preempt.h). In statically linked programs all
//             code is in one module, so this cannot be told. Beside libweft.so, "the program" is the module that the
//             check is in: a program or a plugin, whichever has started the goroutine.
//   Handlers  of signals that were installed without SA_ONSTACK run on the goroutine's stack. They may interrupt
//             anything, also the runtime with its locks held. So a goroutine does not give way inside a handler.
//   Runtime   The runtime's code has no checks, but it calls functions that have: inline functions of headers that the
//             program also includes (the linker may take the program's copy), or the program's operator new. A
//             function that the runtime has called with one of its locks or a P in hand does not give way.
//   Price     Unwinding takes less than a microsecond per frame, once per time slice. Very deep stacks are not walked
//             to the end; their goroutines stay on their thread, too.
namespace weft::sched {

struct FramesOnStack {
  bool foreign = false;     // code of other modules, or frames that were not looked at
  bool in_handler = false;  // inside a signal handler
  bool in_runtime = false;  // called by the runtime with something in hand, or walks have ended (unwinding.h)
  bool may_give_way() const noexcept { return !in_handler && !in_runtime; }
};
// Called once, before there are goroutines. Not lazily at the first look, because a signal handler may interrupt that
// look, come to a check, and look, too (tools/lint/check_lazy.py).
void find_program_code() noexcept;

// Called on the goroutine's own stack.
FramesOnStack look_at_frames(const Goroutine* g) noexcept;

}  // namespace weft::sched
