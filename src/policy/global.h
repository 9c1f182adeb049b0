// SPDX-License-Identifier: MIT
#pragma once
#include "sched/model/policy.h"

// The scheduler that Go had before 1.1: one queue, one lock, and the waker hands the goroutine to an M. It is kept as
// the baseline that Vyukov's design improves on, and as the fallback for programs with very many locked threads.
namespace weft::policy {

class Global final : public sched::Policy {
 public:
  std::string_view name() const noexcept override { return "global"; }
  bool attach(sched::Processor&) noexcept override { return true; }
  void drain(sched::Processor& p, sched::RunnableList& out) noexcept override;
  sched::Place ready(sched::Processor& p, sched::Runnable runnable, sched::Why why, sched::Known known) noexcept override;
  sched::Pick next(sched::Processor& p, sched::Runnable due) noexcept override;
  sched::Theft steal(sched::Processor& thief, sched::Effort effort, const std::uint32_t* seen_ticks) noexcept override;
  bool offers(const sched::Processor*) const noexcept override { return false; }
  sched::Load load(const sched::Processor&) const noexcept override { return {}; }
  std::uint32_t room(const sched::Processor&) const noexcept override { return 0; }
  void visit(const sched::Processor&, sched::Visitor) const noexcept override {}
  bool hands_off() const noexcept override { return true; }
  bool keeps_work_on_processors() const noexcept override { return false; }
};

}  // namespace weft::policy
