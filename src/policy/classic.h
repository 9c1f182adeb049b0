// SPDX-License-Identifier: MIT
#pragma once
#include "sched/policy.h"

// Work stealing (seeds A, B, D): what becomes runnable goes to the P it becomes runnable on.
//   Per P      the slot (runs next, inherits the time slice), the FIFO ring of started goroutines, the LIFO deque of unstarted
//              ones. A full one moves half to the global queue.
//   Order      every 61st pick, earlier where goroutines run long: global queue, then the oldest record; else the slot (for one turn of time
//              while others wait: turn.h); every 4th pick the deque before the ring.
//   Stealing   half of a random victim's ring or deque, all victims in a random order; a slot only when its P has not
//              dispatched since the thief last looked.
namespace weft::policy {

class Classic final : public sched::Policy {
 public:
  sched::PolicyKind kind() const noexcept override { return sched::PolicyKind::kClassic; }
  sched::Placed ready(sched::Processor& p, sched::Runnable runnable, sched::Hint hint) noexcept override;
  sched::Runnable next(sched::Processor& p) noexcept override;
  sched::Runnable steal(sched::Processor& thief, bool desperate, const std::uint32_t* seen_ticks) noexcept override;
  bool has_stealable_work(const sched::Processor* except) const noexcept override;
  std::uint32_t backlog(const sched::Processor& p) const noexcept override;
  void drain(sched::Processor& p, sched::RunnableList& out) noexcept override;
  bool fills_slot() const noexcept override;
};

}  // namespace weft::policy
