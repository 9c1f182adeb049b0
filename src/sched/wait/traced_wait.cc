// SPDX-License-Identifier: MIT
#include "sched/wait/traced_wait.h"

#include "sched/core/dispatch.h"
#include "sched/core/switch.h"
#include "sched/tracing/traced_moves.h"

namespace weft::sched {
namespace {

// The rest of wait_traced(), with what take_successor() has found.
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

// As it usually goes nothing is called before the switch. What is done here nobody sees before the lock is released, the waiter in the list
// neither.
void wait_traced(Goroutine* g, WaitReason reason, const void* object, WaitList& list, Waiter& waiter,
                 ChannelLock& lock) noexcept {
  prepare_wait(g, reason, object);
  list.push(waiter);
  // Our caller's frame: this one has nothing to tell.
  const void* frame = *static_cast<void* const*>(__builtin_frame_address(0));
  WEFT_DCHECK(is_on_stack_of(g, frame), "who waits does so in a function with a frame of its own");
  Processor& p = *os::current_p();
  const Successor successor = take_successor(g, p);  // before anybody can wake us: then leaving and its start are one
  if (WEFT_UNLIKELY(successor.context == nullptr)) return finish_traced_wait(g, lock, frame, successor.next, nullptr);
  Goroutine* target = successor.next.goroutine();
  if (WEFT_UNLIKELY(!trace::usual_switch_there(&g->mark, reinterpret_cast<const trace::Reason&>(g->wait_reason),
                                               {frame, g->stack_bottom, g}, g->chain_hints.block, &target->mark,
                                               target->id)))
    return finish_traced_wait(g, lock, frame, successor.next, successor.context);
  transition_untraced(g, GStatus::kRunning, GStatus::kWaiting);
  lock.unlock();
  WEFT_DCHECK(!os::holds_any_rank(), "a goroutine parks holding none of the runtime's locks");
  runs_untraced(*os::current_p(), target);  // read again rather than kept: it is the same
  switch_to(g, *os::current_m(), target, successor.context, false);
}

}  // namespace weft::sched
