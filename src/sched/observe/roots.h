// SPDX-License-Identifier: MIT
#pragma once

// What a garbage collector has to scan: the memory in which goroutines keep pointers. These are stacks, and the
// closures of goroutines that have not run yet. The world is stopped.
//   Stopped   Goroutines that are parked or runnable: the stack from the stack pointer up. Their registers are saved
//             there.
//   Exiles    Goroutines without a P (preempt.h) stand still in a signal handler (hold.h): their whole stack, and the
//             registers that the signal has saved.
//   Outside   Goroutines in blocking calls go on: their whole stack, and the thread that uses it. A collector that must
//             not miss a register has to stop that thread by its own means. The same holds for exiles that could not be
//             held.
namespace weft::sched {

struct Root {
  const void* begin;
  const void* end;
  int thread;  // the thread that still runs on this stack; 0: none
};

void visit_roots(void (*visit)(void* context, const Root& root), void* context) noexcept;

}  // namespace weft::sched
