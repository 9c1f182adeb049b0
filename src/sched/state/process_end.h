// SPDX-License-Identifier: MIT
#pragma once

// Threads after the end of the runtime: the process exits, or this is the child of a fork.
namespace weft::sched {

// The calling thread has stopped the world for the exit (world/world.h): it is in exit().
bool ends_the_process() noexcept;
// Another thread that comes back after that.
[[noreturn]] void stay_out_of_the_way() noexcept;

// After fork() in the child: the threads that ran the goroutines do not exist here.
void forked_in_child() noexcept;
[[noreturn]] void refuse_in_forked_child() noexcept;

}  // namespace weft::sched
