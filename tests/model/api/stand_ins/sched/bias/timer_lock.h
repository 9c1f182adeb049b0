// SPDX-License-Identifier: MIT
#pragma once
#include "base/atomic.h"

// Stands in for src/sched/bias/timer_lock.h, whose lock has a model of its own (tests/model/biased_lock_test.cc): any lock will do.
namespace weft::sched {

class TimerLock {
 public:
  void lock() { mutex_.lock(RL_INFO); }
  bool try_lock() { return mutex_.try_lock(RL_INFO); }
  void unlock() { mutex_.unlock(RL_INFO); }
  void lock_nested() { lock(); }
  void unlock_nested() { unlock(); }

 private:
  rl::mutex mutex_;
};

}  // namespace weft::sched
