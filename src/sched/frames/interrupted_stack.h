// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

#include "sched/frames/user_call.h"
#include "sched/model/machine.h"

namespace weft::detail {
struct preemptible_scope;
}

namespace weft::sched {

// A walk from the signal handler outwards. It is clean if it finds, after the handler's own frames, only user code (or
// what user_call.h allows), and then the first function of goroutines.
//   Sanitizers  Their functions are called from everywhere, also from weft_goroutine_main, between any two steps of a
//               switch. So in these builds a function that calls nothing but the goroutine's entry (weft_run_entry)
//               shows that the frames inside it are the user's.
//   TSan        keeps a signal until the thread next calls one of its functions, and calls the handler from there. Then
//               there is no signal frame, but TSan's code stands between the handler and the interrupted code.
//   Handlers    If this signal has interrupted the handler of another signal, the goroutine must not give way there, as
//               at checks (foreign_frames.h).
struct StackWalk {
  const detail::preemptible_scope* scope = nullptr;
  bool left_handler = false;  // the walk is past our handler; the next handler that it leaves is another signal's
  bool interrupted = false;   // the walk has come to the interrupted code; with TSan, also without a signal frame
  RuntimeFrames runtime{false};
  bool clean = false;
  bool own_code = true;                   // all frames from the scope inwards are code of the scope's module
  bool lock_code = false, locks = false;  // may hold a lock that others need: judged by module, by function (hold.h)
  std::size_t frames = 0;
  WalkedStack user;
};

// Called in the handler, on the goroutine's thread. If the stack must not be walked now, the result is not clean.
StackWalk walk_if_possible(Machine& m, const Goroutine* g, const void* ucontext) noexcept;

bool sleeps_in_call(const void* ucontext) noexcept;
// May the thread be held where it is (hold.h)?
bool may_stand_still(const Machine& m, const Goroutine* g, const StackWalk& walk, const void* ucontext) noexcept;

}  // namespace weft::sched
