// SPDX-License-Identifier: MIT
#pragma once
#include "os/spin_lock.h"
#include "policy/classic.h"

// Step V3 of the documents' plan: queues on the Ps and stealing, but still under the one scheduler lock. For the ladder of the
// benchmarks (WEFT_DEBUG=ladder=3), which shows what leaving that lock brings.
namespace weft::policy {

class OneLock final : public sched::Policy {
 public:
  sched::PolicyKind kind() const noexcept override { return sched::PolicyKind::kClassic; }
  sched::Placed ready(sched::Processor& p, sched::Runnable runnable, sched::Hint hint) noexcept override;
  sched::Runnable next(sched::Processor& p) noexcept override;
  sched::Runnable steal(sched::Processor& thief, bool desperate, const std::uint32_t* seen_ticks) noexcept override;
  bool has_stealable_work(const sched::Processor* except) const noexcept override;
  std::uint32_t backlog(const sched::Processor& p) const noexcept override;
  void drain(sched::Processor& p, sched::RunnableList& out) noexcept override;

 private:
  mutable os::SpinLock lock_;  // unranked: wakers hold other locks
  Classic queues_;
};

}  // namespace weft::policy
