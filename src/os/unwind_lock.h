// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

// A signal handler that unwinds may wait for ever: libgcc's search for a frame takes a mutex if somebody has registered frames
// by hand, which is what statically linked programs do at their start, and programs that compile at run time. If the thread that was
// interrupted holds it (it throws just now), the handler would wait for itself.
//   How       the mutex has no name outside libgcc. The search loads its address right before it locks it, and from there it is
//             read, once, at the start. In a handler a look at the mutex tells whether this thread has it. libgcc from 13 on
//             needs no lock for that, and nothing is found and nothing refused where the code looks otherwise.
namespace weft::os {

void find_unwind_lock() noexcept;  // before there are such signals

// In a handler, before unwinding. False: not now.
bool may_unwind_in_handler(pid_t this_thread) noexcept;

}  // namespace weft::os
