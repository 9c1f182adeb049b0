// SPDX-License-Identifier: MIT
#pragma once
#include "base/atomic.h"
#include "os/ranked_mutex.h"
#include "sched/bias/biased_lock.h"
#include "sched/bias/machine_owners.h"

namespace weft::sched {

// A timer heap's: most of the time the M that has its P uses it alone, to start timers and to stop them.
class TimerLock {
 public:
  void lock() noexcept {
    os::note_rank_taken(base::Rank::kTimers);
    lock_nested();
  }
  // False: somebody is at work there. From another M that only owns it, it is taken away: who tries has seen that timers are due.
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
  // For the place that holds two, and says why that cannot go wrong.
  void lock_nested() noexcept { lock_.lock_unranked(); }
  void unlock_nested() noexcept { lock_.unlock_counted_unranked(); }

 private:
  BiasedLock<base::StdAtomics, MachineOwners> lock_;
};

}  // namespace weft::sched
