// SPDX-License-Identifier: MIT
#include "sched/frames/interrupted_stack.h"

#include <unwind.h>

#include "arch/interrupted_call.h"
#include "arch/interrupted_frame.h"
#include "base/sanitizer.h"
#include "os/clock.h"
#include "os/common_lock_code.h"
#include "os/linker_code.h"
#include "os/unwind_lock.h"
#include "os/unwinder_code.h"
#include "sched/frames/runtime_text.h"
#include "sched/frames/unwinding.h"
#include "sched/frames/walked_frame.h"
#include "sched/model/goroutine.h"
#include "weft/detail/preemptible_scope.h"

namespace weft::sched {
namespace {

constexpr std::size_t kLongestStack = 10'000;  // frames; to walk one takes about 1 us
constexpr std::size_t kPausePerFrameUs = 16;   // after a walk in vain: at most 1/16 of the time goes into walks

_Unwind_Reason_Code look_at_frame(_Unwind_Context* context, void* data) {
  StackWalk& walk = *static_cast<StackWalk*>(data);
  const WalkedFrame frame(context);
  const std::uintptr_t pc = frame.pc;
  if (frame.leaves_handler && walk.left_handler) return _URC_END_OF_STACK;
  walk.left_handler |= frame.interrupted;
  walk.interrupted |= frame.interrupted || (WEFT_TSAN && !in_runtime(pc));
  if (!walk.interrupted) return _URC_NO_REASON;
  if (++walk.frames > kLongestStack) return _URC_END_OF_STACK;
  // A walk cannot tell where these go on.
  if (os::is_unwinder_code(pc, frame.function) || os::is_linker_code(pc)) return _URC_END_OF_STACK;
  if ((frame.interrupted && in_runtime(pc)) || !walk.runtime.next(pc, frame.function)) return _URC_END_OF_STACK;
  walk.lock_code |= os::is_common_lock_code(pc);
  walk.locks |= os::takes_common_lock(pc, frame.function);
  if (!in_runtime(pc)) {
    const bool inside = frame.interrupted || _Unwind_GetCFA(context) <= reinterpret_cast<std::uintptr_t>(walk.scope);
    if (walk.scope != nullptr && inside)
      walk.own_code &= pc - walk.scope->code_begin < walk.scope->code_end - walk.scope->code_begin;
    if (walk.user.count < WalkedStack::kMax) walk.user.pcs[walk.user.count++] = reinterpret_cast<void*>(pc);
    return _URC_NO_REASON;
  }
  walk.clean = frame.function == first_function_of_goroutines();
  return walk.clean ? _URC_END_OF_STACK : _URC_NO_REASON;
}

StackWalk walk_interrupted_stack(const Goroutine* g) noexcept {
  StackWalk walk;
  walk.scope = g->preemptible;
  const Unwinding unwinding;
  if (unwinding.allowed() && knows_runtime_text()) _Unwind_Backtrace(look_at_frame, &walk);
  return walk;
}

// The signal came in the middle of the unwinder, through which no walk leads. The thread holds no common lock there:
// the unwinder needs none if it finds frames without a lock, and no exception leaves a function that holds one.
bool stands_in_unwinder(const Machine& m, const void* ucontext) noexcept {
  return os::finds_frames_without_lock() && os::may_unwind_in_handler(m.tid) &&
         os::is_unwinder_code(reinterpret_cast<std::uintptr_t>(arch::interrupted_frame(ucontext).pc), 0);
}

// For after the exit has ended all walks (unwinding.h): the innermost frame has to suffice. Nothing is known of its
// callers.
bool stands_in_user_code(const void* ucontext) noexcept {
  const auto pc = reinterpret_cast<std::uintptr_t>(arch::interrupted_frame(ucontext).pc);
  return os::knows_common_lock_code() && !in_runtime(pc) && !os::is_common_lock_code(pc) &&
         !os::is_unwinder_code(pc, 0);
}

}  // namespace

StackWalk walk_if_possible(Machine& m, const Goroutine* g, const void* ucontext) noexcept {
  const bool may_walk = g->no_preempt == 0 && os::may_unwind_in_handler(m.tid) &&
                        !arch::returns_from_handler(ucontext) && os::ticks() >= m.walk_again_at;
  if (!may_walk) return {};
  const StackWalk walk = walk_interrupted_stack(g);
  // A deep recursion that is signalled every millisecond would otherwise do nothing but walk its stack.
  if (!walk.clean) m.walk_again_at = os::ticks() + os::us_to_ticks(walk.frames * kPausePerFrameUs);
  return walk;
}

bool sleeps_in_call(const void* ucontext) noexcept {
  return arch::interrupted_call_state(ucontext) == arch::CallState::kInside;
}

bool may_stand_still(const Machine& m, const Goroutine* g, const StackWalk& walk, const void* ucontext) noexcept {
  if (g->no_preempt != 0) return false;
  const bool patient = m.hold.refusals.load_relaxed() < kPatience;
  if (!walk.clean)
    return (Unwinding::ended() && stands_in_user_code(ucontext)) || (!patient && stands_in_unwinder(m, ucontext));
  const bool few_places = sleeps_in_call(ucontext) || !os::knows_common_lock_code() || !patient;
  return !walk.locks && (few_places || !walk.lock_code);
}

}  // namespace weft::sched
