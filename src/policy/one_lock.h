// SPDX-License-Identifier: MIT
#pragma once
#include "os/spin_lock.h"
#include "policy/classic.h"

// Classic's queues on the Ps and its stealing, but still under one scheduler lock. This is a step of the design
// documents' plan, for the benchmarks of those steps (WEFT_DEBUG=ladder=3). They show what it brings to leave that
// lock.
namespace weft::policy {

class OneLock final : public sched::Policy {
 public:
  std::string_view name() const noexcept override { return "one_lock"; }
  bool attach(sched::Processor& p) noexcept override { return queues_.attach(p); }
  void drain(sched::Processor& p, sched::RunnableList& out) noexcept override;
  sched::Place ready(sched::Processor& p, sched::Runnable runnable, sched::Why why, sched::Known known) noexcept override;
  sched::Pick next(sched::Processor& p, sched::Runnable due) noexcept override;
  sched::Theft steal(sched::Processor& thief, sched::Effort effort, const std::uint32_t* seen_ticks) noexcept override;
  bool offers(const sched::Processor* except) const noexcept override;
  sched::Load load(const sched::Processor& p) const noexcept override { return queues_.load(p); }
  std::uint32_t room(const sched::Processor& p) const noexcept override { return queues_.room(p); }
  void visit(const sched::Processor& p, sched::Visitor visitor) const noexcept override { queues_.visit(p, visitor); }

 private:
  mutable os::SpinLock lock_;  // without a rank, because wakers hold other locks
  Classic queues_;
};

}  // namespace weft::policy
