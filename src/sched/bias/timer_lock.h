// SPDX-License-Identifier: MIT
#pragma once
#include "base/atomic.h"
#include "os/ranked_mutex.h"
#include "sched/bias/biased_lock.h"
#include "sched/bias/machine_owners.h"

namespace weft::sched {

// The lock of a timer heap. Most of the time only the M that has the heap's P uses it, to start and to stop timers.
class TimerLock {
 public:
  void lock() noexcept {
    os::note_rank_taken(base::Rank::kTimers);
    lock_nested();
  }
  // False: another thread holds the lock. If another M owns it without holding it, its bias is revoked, because the
  // caller has seen that timers are due.
  bool try_lock() noexcept {
    if (!lock_.try_lock_unranked()) {
      if (lock_.seems_in_use()) return false;
      lock_.lock_unranked();
    }
    os::note_rank_taken(base::Rank::kTimers);
    return true;
  }
  void unlock() noexcept {
    os::note_rank_released(base::Rank::kTimers);
    unlock_nested();
  }
  // Without the check of ranks, for TimerHeap::adopt(): it holds two of these locks, and says why that cannot deadlock.
  void lock_nested() noexcept { lock_.lock_unranked(); }
  void unlock_nested() noexcept { lock_.unlock_counted_unranked(); }

 private:
  BiasedLock<base::StdAtomics, MachineOwners> lock_;
};

}  // namespace weft::sched
