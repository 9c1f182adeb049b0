// SPDX-License-Identifier: MIT
#pragma once
#include "sched/policy.h"

// The scheduler Go had before 1.1 (requirements 2.2): one queue, one lock, and the waker hands the goroutine to an M. Kept as
// the baseline the documents complain of, and as the fallback for programs with very many locked threads.
namespace weft::policy {

class Global final : public sched::Policy {
 public:
  sched::PolicyKind kind() const noexcept override { return sched::PolicyKind::kGlobal; }
  sched::Placed ready(sched::Processor& p, sched::Runnable runnable, sched::Hint hint) noexcept override;
  sched::Runnable next(sched::Processor& p) noexcept override;
  sched::Runnable steal(sched::Processor& thief, bool desperate, const std::uint32_t* seen_ticks) noexcept override;
  bool has_stealable_work(const sched::Processor* except) const noexcept override;
  std::uint32_t backlog(const sched::Processor& p) const noexcept override;
  void drain(sched::Processor& p, sched::RunnableList& out) noexcept override;
  bool hands_off() const noexcept override { return true; }
};

}  // namespace weft::policy
