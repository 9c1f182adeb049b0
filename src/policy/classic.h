// SPDX-License-Identifier: MIT
#pragma once
#include "sched/model/policy.h"
#include "sched/queue/idle_word.h"

// Vyukov's design, as Go has it since 1.1, with separate queues for unstarted goroutines.
//   Slot     What is in the slot runs next. A goroutine that is woken or spawned goes there, and pushes what was in it
//            to the queues. turn.h says how long a chain through the slot may run before the others.
//   Started  A FIFO ring of 256. When it is full, half of it goes to the global queue.
//   Records  Unstarted goroutines in a LIFO deque. The newest runs first, because depth-first spawning keeps memory
//            bounded. Every fourth pick looks here first, and now and then the oldest record runs. So neither kind
//            starves.
//   Thieves  A thief takes half of the started goroutines, or else half of the records, the oldest first.
namespace weft::policy {

class Classic final : public sched::Policy {
 public:
  std::string_view name() const noexcept override { return "classic"; }
  bool attach(sched::Processor& p) noexcept override;
  void drain(sched::Processor& p, sched::RunnableList& out) noexcept override;
  sched::Place ready(sched::Processor& p, sched::Runnable runnable, sched::Why why, sched::Known known) noexcept override;
  sched::Pick next(sched::Processor& p, sched::Runnable due) noexcept override;
  sched::Pick exchange(sched::Processor& p, sched::Runnable yielding) noexcept override;
  sched::Theft steal(sched::Processor& thief, sched::Effort effort, const std::uint32_t* seen_ticks) noexcept override;
  bool offers(const sched::Processor* except) const noexcept override;
  sched::Load load(const sched::Processor& p) const noexcept override;
  std::uint32_t room(const sched::Processor& p) const noexcept override;
  void visit(const sched::Processor& p, sched::Visitor visitor) const noexcept override;

 private:
  struct Queues;
  Queues& of(const sched::Processor& p) const noexcept;  // for anybody
  static Queues& own(sched::Processor& p) noexcept;      // for the owner of p: one load less

  bool varies_ = false;                         // a setting for tests or comparisons asks for another order
  Queues* queues_[sched::kMaxProcessors] = {};  // by the P's id; written in attach()
};

}  // namespace weft::policy
