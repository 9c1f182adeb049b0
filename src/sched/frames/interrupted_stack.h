// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

#include "sched/frames/user_call.h"
#include "sched/model/machine.h"

namespace weft::detail {
struct preemptible_scope;
}

namespace weft::sched {

// From the signal handler outwards: past the handler's own frames, then user code only, then the function that calls it.
//   Sanitizers  call functions of their own from everywhere, also from weft_goroutine_main, between any two steps of a switch:
//               there a function that calls nothing but the goroutine's entry tells that it was the user's code that called.
//   TSan        keeps a signal until the next call of its own functions, and has the handler called from there: without a signal
//               frame, but its code stands between the handler's and that of the caller.
//   Handlers    of other signals which this one has interrupted are no place to give way, as at checks (foreign_frames.h).
struct StackWalk {
  const detail::preemptible_scope* scope = nullptr;
  bool left_handler = false;  // ours, for what was interrupted; the next one to be left is that of another signal
  bool interrupted = false;   // the same, and with TSan also past its code
  RuntimeFrames runtime{false};
  bool clean = false;
  bool own_code = true;                   // from the scope inwards: of the scope's module
  bool lock_code = false, locks = false;  // it may have a lock that others need: by module, by function (hold.h)
  std::size_t frames = 0;
  WalkedStack user;
};

// In the handler, on the goroutine's thread. Nothing is known (not clean) where nobody may walk just now.
StackWalk walk_if_possible(Machine& m, const Goroutine* g, const void* ucontext) noexcept;

bool sleeps_in_call(const void* ucontext) noexcept;
// May the thread be kept there (hold.h)?
bool may_stand_still(const Machine& m, const Goroutine* g, const StackWalk& walk, const void* ucontext) noexcept;

}  // namespace weft::sched
