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

sched::Placed OneLock::ready(sched::Processor& p, sched::Runnable runnable, sched::Hint hint) noexcept {
  const Guard guard(lock_);
  return queues_.ready(p, runnable, hint);
}

sched::Runnable OneLock::next(sched::Processor& p) noexcept {
  const Guard guard(lock_);
  return queues_.next(p);
}

sched::Runnable OneLock::steal(sched::Processor& thief, bool desperate, const std::uint32_t* seen_ticks) noexcept {
  const Guard guard(lock_);
  return queues_.steal(thief, desperate, seen_ticks);
}

bool OneLock::has_stealable_work(const sched::Processor* except) const noexcept {
  const Guard guard(lock_);
  return queues_.has_stealable_work(except);
}

std::uint32_t OneLock::backlog(const sched::Processor& p) const noexcept { return queues_.backlog(p); }

void OneLock::drain(sched::Processor& p, sched::RunnableList& out) noexcept {
  const Guard guard(lock_);
  queues_.drain(p, out);
}

}  // namespace weft::policy
