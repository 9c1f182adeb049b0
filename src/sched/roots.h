// SPDX-License-Identifier: MIT
#pragma once

// What a collector has to scan: the memory in which goroutines keep pointers. Stacks, and the closures of those that have
// not run yet. With the world stopped.
//   Stopped goroutines   from the stack pointer up; their registers have been saved there.
//   Outside              in blocking calls, or exiles (preempt.h): they go on computing. Their whole stack, and the thread that
//                        uses it: whoever must not miss a register has to stop that thread by its own means.
namespace weft::sched {

struct Root {
  const void* begin;
  const void* end;
  int thread;  // 0: nobody uses it
};

void visit_roots(void (*visit)(void* context, const Root& root), void* context) noexcept;

}  // namespace weft::sched
