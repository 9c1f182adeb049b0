// SPDX-License-Identifier: MIT
#include "policy/one_lock.h"

namespace weft::policy {
namespace {

class Guard {
 public:
  explicit Guard(os::SpinLock& lock) noexcept : lock_(lock) { lock_.lock_unranked(); }
  ~Guard() { lock_.unlock_unranked(); }
  Guard(const Guard&) = delete;

 private:
  os::SpinLock& lock_;
};

}  // namespace

sched::Place OneLock::ready(sched::Processor& p, sched::Runnable runnable, sched::Why why, sched::Known known) noexcept {
  const Guard guard(lock_);
  return queues_.ready(p, runnable, why, known);
}

sched::Pick OneLock::next(sched::Processor& p, sched::Runnable due) noexcept {
  const Guard guard(lock_);
  return queues_.next(p, due);
}

sched::Theft OneLock::steal(sched::Processor& thief, sched::Effort effort, const std::uint32_t* seen_ticks) noexcept {
  const Guard guard(lock_);
  return queues_.steal(thief, effort, seen_ticks);
}

bool OneLock::offers(const sched::Processor* except) const noexcept {
  const Guard guard(lock_);
  return queues_.offers(except);
}

void OneLock::drain(sched::Processor& p, sched::RunnableList& out) noexcept {
  const Guard guard(lock_);
  queues_.drain(p, out);
}

}  // namespace weft::policy
