// SPDX-License-Identifier: MIT
#include "sched/wait/traced_wait.h"

#include "sched/core/dispatch.h"
#include "sched/core/switch.h"
#include "sched/tracing/traced_moves.h"

namespace weft::sched {
namespace {

// The rest of wait_traced() where the tracer cannot be told in one step. `next` and `context` are what take_successor()
// has found.
__attribute__((noinline)) void finish_traced_wait(Goroutine* g, ChannelLock& lock, const void* frame, Runnable next,
                                         void* context) noexcept {
  if (!trace::usual_leave(trace::format::Event::kGoBlock, &g->mark, static_cast<trace::Reason>(g->wait_reason),
                          chain_of(g, frame), g->chain_hints.block))
    trace_unusual_move(g, GStatus::kRunning, GStatus::kWaiting, frame);
  transition_untraced(g, GStatus::kRunning, GStatus::kWaiting);
  Goroutine* target = next.goroutine();
  if (context != nullptr) trace_start_inline(os::current_p(), target, true, frame);
  lock.unlock();
  WEFT_DCHECK(!os::holds_any_rank(), "a goroutine parks holding none of the runtime's locks");
  if (context == nullptr) return park_slowly(next);
  runs_untraced(*os::current_p(), target);
  switch_to(g, *os::current_m(), target, context, false);
}

}  // namespace

// In the usual case no function is called before the switch. Other threads see nothing of what is done here, not even
// the waiter in the list, before the lock is released.
void wait_traced(Goroutine* g, WaitReason reason, const void* object, WaitList& list, Waiter& waiter,
                 ChannelLock& lock) noexcept {
  prepare_wait(g, reason, object);
  list.push(waiter);
  // The traced stack begins with our caller's frame, because this function's own frame tells the reader nothing.
  const void* frame = *static_cast<void* const*>(__builtin_frame_address(0));
  WEFT_DCHECK(is_on_stack_of(g, frame), "who waits does so in a function with a frame of its own");
  Processor& p = *os::current_p();
  // Before the unlock, while no waker can wake g. So g's block and the successor's start can be told in one step.
  const Successor successor = take_successor(g, p);
  if (WEFT_UNLIKELY(successor.context == nullptr)) return finish_traced_wait(g, lock, frame, successor.next, nullptr);
  Goroutine* target = successor.next.goroutine();
  if (WEFT_UNLIKELY(!trace::usual_switch_there(&g->mark, reinterpret_cast<const trace::Reason&>(g->wait_reason),
                                               {frame, g->stack_bottom, g}, g->chain_hints.block, &target->mark,
                                               target->id)))
    return finish_traced_wait(g, lock, frame, successor.next, successor.context);
  transition_untraced(g, GStatus::kRunning, GStatus::kWaiting);
  lock.unlock();
  WEFT_DCHECK(!os::holds_any_rank(), "a goroutine parks holding none of the runtime's locks");
  runs_untraced(*os::current_p(), target);  // the same P, read again instead of kept in a register
  switch_to(g, *os::current_m(), target, successor.context, false);
}

}  // namespace weft::sched
