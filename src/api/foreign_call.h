// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/model/machine.h"

// Calls of the C library by code that knows nothing of weft, on a goroutine (src/posix): may the goroutine wait there,
// and how?
//   May wait   not on a plain thread or g0; in a call that was announced; in the runtime, or in what the runtime has
//              called with a lock or a P in hand; in a signal handler; with the world stopped; in a child of fork or
//              vfork; while the process exits. There the C library's own function is called, as if weft did not exist.
//   Handlers   on a stack of their own are told by the stack pointer. On the goroutine's stack, the kernel has blocked
//              the handled signal: only if the thread's mask is not the usual one, the stack is walked
//              (sched/frames/foreign_frames.h). Known gap: handlers installed with SA_NODEFER, without SA_ONSTACK.
//   Thread     The goroutine may come back on another thread. See ErrnoPlace.
namespace weft::api {

// Is this a goroutine's call, and not the runtime's? `caller`: its return address. Cheap: for the calls that try before
// they wait.
bool is_goroutine_call(const void* caller) noexcept;

// May switch: a goroutine that lost its P gets one. True: the caller may park. False: as said above.
bool may_wait_here() noexcept;

// The same for calls that the runtime itself may have caused: an allocator's lock. Always looks at the stack.
bool may_wait_with_locks() noexcept;

// The goroutine's P is up for others until leave_foreign_call(): the call in between may block. Within an announced
// call it only counts. If the P is gone afterwards and another library's code is on the stack, the goroutine keeps its
// thread.
void enter_foreign_call() noexcept;
void leave_foreign_call() noexcept;
// The goroutine goes on on the thread that made the call.
void leave_foreign_call_on_thread() noexcept;
// Has the goroutine locked its thread?
bool keeps_thread() noexcept;

// errno and the caller's idea of where it is. Compilers keep the address of errno for the length of a function, also
// across a call in which the goroutine has changed its thread. So a failure is written to both places: to this thread's
// errno, and to that of the thread on which the call began, if that thread still exists. Known gap: a goroutine which
// runs there at this very moment, and has a failure of its own, may see the wrong number.
class ErrnoPlace {
 public:
  ErrnoPlace() noexcept;
  void fail(int error) const noexcept;

 private:
  sched::Machine* machine_;
};

}  // namespace weft::api
