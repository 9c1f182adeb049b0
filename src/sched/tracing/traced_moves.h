// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"
#include "trace/usual_events.h"

// Reports the moves that happen millions of times a second to the tracer, inline. park() and ready() have twins that
// run while something is recorded. The twins use these functions and need no cold call (27 instructions, and all
// registers saved).
//   `frame`  where the recorded stack begins: the frame of the function that has called the scheduler.
namespace weft::sched {

// The slow path for every other case: introduces goroutines that the trace has not mentioned yet, and walks stacks that
// are not known yet.
void trace_unusual_move(Goroutine* g, GStatus from, GStatus to, const void* frame) noexcept;

inline bool is_on_stack_of(const Goroutine* g, const void* frame) noexcept {
  return g != nullptr && frame > g->stack_bottom && frame < static_cast<const void*>(g);
}
inline trace::FrameChain chain_of(const Goroutine* g, const void* frame) noexcept {
  if (WEFT_UNLIKELY(!is_on_stack_of(g, frame))) return {};
  return {frame, g->stack_bottom, g};
}

__attribute__((always_inline)) inline void trace_unblock_inline(const Processor* p, Goroutine* g, const void* frame) noexcept {
  Goroutine* self = os::current_g();
  trace::ChainHint unused = 0;
  trace::ChainHint& hint = self != nullptr ? self->chain_hints.unblock : unused;
  const trace::Mark* running =
      WEFT_LIKELY(self != nullptr && self->status.load_relaxed() == GStatus::kRunning) ? &self->mark : nullptr;
  if (WEFT_UNLIKELY(p == nullptr ||
                    !trace::usual_unblock(&p->mark, running, chain_of(self, frame), hint, &g->mark, g->id)))
    trace_unusual_move(g, GStatus::kWaiting, GStatus::kRunnable, frame);
}

__attribute__((always_inline)) inline void trace_start_inline(const Processor* p, Goroutine* g, bool at_once,
                                                      const void* frame) noexcept {
  if (WEFT_UNLIKELY(p == nullptr || !trace::usual_start(&p->mark, &g->mark, g->id, at_once)))
    trace_unusual_move(g, GStatus::kRunnable, GStatus::kRunning, frame);
}

}  // namespace weft::sched
