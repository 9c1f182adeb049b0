// SPDX-License-Identifier: MIT
#pragma once

// Threads after the end of the runtime: the process exits, or it is the child of a fork.
namespace weft::sched {

// True: the calling thread has stopped the world for the exit (world/world.h), and is in exit().
bool ends_the_process() noexcept;
// For another thread that comes back after that: sleeps for ever.
[[noreturn]] void stay_out_of_the_way() noexcept;

// Called in the child after fork(). The threads that ran the goroutines do not exist there.
void forked_in_child() noexcept;
[[noreturn]] void refuse_in_forked_child() noexcept;

}  // namespace weft::sched
