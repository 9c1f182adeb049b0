// SPDX-License-Identifier: MIT
#pragma once
#include "sched/model/policy.h"
#include "sched/queue/idle_word.h"

// Vyukov's design, as Go has it since 1.1, with separate queues for unstarted goroutines.
//   Slot     runs next; a wake-up or spawn goes there and pushes what was in it to the queues. How long a chain through the slot
//            goes before the others: turn.h.
//   Started  a FIFO ring of 256; half of it goes to the global queue when it is full.
//   Records  unstarted goroutines in a LIFO deque, the newest first: depth-first spawning keeps memory bounded. Every fourth
//            pick looks there first, and now and then the oldest record runs, so that neither kind starves.
//   Thieves  take half of the started ones, or half of the records, the oldest first.
namespace weft::policy {

class Classic final : public sched::Policy {
 public:
  std::string_view name() const noexcept override { return "classic"; }
  bool attach(sched::Processor& p) noexcept override;
  void drain(sched::Processor& p, sched::RunnableList& out) noexcept override;
  sched::Place ready(sched::Processor& p, sched::Runnable runnable, sched::Why why, sched::Known known) noexcept override;
  sched::Pick next(sched::Processor& p, sched::Runnable due) noexcept override;
  sched::Theft steal(sched::Processor& thief, sched::Effort effort, const std::uint32_t* seen_ticks) noexcept override;
  bool offers(const sched::Processor* except) const noexcept override;
  sched::Load load(const sched::Processor& p) const noexcept override;
  std::uint32_t room(const sched::Processor& p) const noexcept override;
  void visit(const sched::Processor& p, sched::Visitor visitor) const noexcept override;

 private:
  struct Queues;
  Queues& of(const sched::Processor& p) const noexcept;

  bool varies_ = false;                         // tests ask for another order
  Queues* queues_[sched::kMaxProcessors] = {};  // of each P; written in attach()
};

}  // namespace weft::policy
