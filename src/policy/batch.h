// SPDX-License-Identifier: MIT
#pragma once
#include "sched/model/policy.h"
#include "sched/queue/idle_word.h"

// Goroutines that talk to each other run one after the other on the same P (Ritson's batches, as in KRoC's scheduler).
//   Active   The batch that runs. A goroutine that is woken or spawned goes to the slot, and what was in the slot goes
//            to the tail of the active batch. So a displaced goroutine waits behind its own group, not behind all.
//   Run      batch_run.h says how long a batch runs, and whether it is split at the end. What is left goes to the end
//            of the P's queue of batches. By time the slot is left alone: what was woken while another computed runs
//            first.
//   Thieves  see the last fifteen batches (batch_window.h) and take whole ones. All else is hidden, but not for long: if
//            another P has nothing to do and what is hidden is worth a wake, its older half is offered; and if this P
//            does not move, a thief asks it to give way.
//   Long     Where goroutines run for long, a displaced goroutine becomes a batch of its own at once. Thieves see it,
//            but it stays at the front of this P's order (`front`).
//   Records  Unstarted goroutines wait in a LIFO deque, as in classic.
//   Hubs     A batch that has grown to 64 goes behind the others: a server that wakes a thousand clients does not run
//            them all before everybody else.
//   Hogs     A preempted goroutine goes to the global queue and leaves its batch.
//   Members  Who has talked with whom is kept beside this (sched/state/batch_members.h), for reports.
//   KRoC     With WEFT_BATCH=kroc the documents' own rules: no slot, a woken goroutine goes to the tail, runs of
//            min(8n, 127) dispatches, and the newest batch is private until the next one comes.
namespace weft::policy {

class Batch final : public sched::Policy {
 public:
  std::string_view name() const noexcept override { return "batch"; }
  bool attach(sched::Processor& p) noexcept override;
  void drain(sched::Processor& p, sched::RunnableList& out) noexcept override;
  sched::Place ready(sched::Processor& p, sched::Runnable runnable, sched::Why why, sched::Known known) noexcept override;
  sched::Place ready_all(sched::Processor& p, const sched::Runnable* several, std::size_t count,
                         sched::Why why) noexcept override;
  sched::Pick next(sched::Processor& p, sched::Runnable due) noexcept override;
  sched::Theft steal(sched::Processor& thief, sched::Effort effort, const std::uint32_t* seen_ticks) noexcept override;
  bool offers(const sched::Processor* except) const noexcept override;
  sched::Load load(const sched::Processor& p) const noexcept override;
  std::uint32_t room(const sched::Processor& p) const noexcept override;
  void visit(const sched::Processor& p, sched::Visitor visitor) const noexcept override;
  bool forms_batches() const noexcept override { return true; }

 private:
  class Queues;
  Queues& of(const sched::Processor& p) const noexcept;  // for anybody
  static Queues& own(sched::Processor& p) noexcept;      // for the owner of p

  Queues* queues_[sched::kMaxProcessors] = {};  // by the P's id; written in attach()
};

}  // namespace weft::policy
