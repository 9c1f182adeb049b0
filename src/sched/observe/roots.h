// SPDX-License-Identifier: MIT
#pragma once

// What a collector has to scan: the memory in which goroutines keep pointers. Stacks, and the closures of those that have
// not run yet. With the world stopped.
//   Stopped goroutines   from the stack pointer up; their registers have been saved there.
//   Exiles               (preempt.h) stand still in the handler of a signal (hold.h): their whole stack, and what the
//                        signal has saved.
//   Outside              in blocking calls: they go on. Their whole stack, and the thread that uses it: whoever must
//                        not miss a register has to stop that thread by its own means. So do exiles that could not be
//                        held.
namespace weft::sched {

struct Root {
  const void* begin;
  const void* end;
  int thread;  // 0: nobody uses it
};

void visit_roots(void (*visit)(void* context, const Root& root), void* context) noexcept;

}  // namespace weft::sched
