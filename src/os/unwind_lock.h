// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

// A signal handler that unwinds may wait for ever. libgcc's search for a frame takes a mutex if frames were registered
// by hand: statically linked programs do so at their start, and so do programs that compile at run time. If the
// interrupted thread holds the mutex (it throws just now), the handler would wait for itself.
//   How       the mutex has no name outside libgcc. The search loads its address right before it locks it; from that
//             code the address is read, once, at the start. In a handler a look at the mutex tells whether this thread
//             holds it. libgcc from 13 on needs no lock for the search. Where its code looks different, no mutex is
//             found and unwinding is never refused.
namespace weft::os {

void find_unwind_lock() noexcept;  // before the first such signal

// Called in a handler, before unwinding. False: not now.
bool may_unwind_in_handler(pid_t this_thread) noexcept;

}  // namespace weft::os
