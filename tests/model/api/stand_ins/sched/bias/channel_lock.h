// SPDX-License-Identifier: MIT
#pragma once
#include "os/spin_lock.h"

// Stands in for src/sched/bias/channel_lock.h, which has a model of its own (tests/model/biased_lock_test.cc): any lock will do.
namespace weft::sched {
struct ChannelLock : os::SpinLock {
  bool is_own() const noexcept { return false; }
  void unlock_counted() noexcept { unlock(); }
  void unlock_counted_unranked() noexcept { unlock_unranked(); }
};
}
