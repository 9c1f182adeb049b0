// SPDX-License-Identifier: MIT
#pragma once
#include "base/atomic.h"
#include "os/wait_list_lock.h"
#include "sched/bias/biased_lock.h"
#include "sched/bias/machine_owners.h"

namespace weft::sched {

// The lock of a channel.
struct ChannelLock : os::OfWaitList<BiasedLock<base::StdAtomics, MachineOwners>> {
  void unlock_counted() noexcept {
    os::note_rank_released(base::Rank::kWaitList);
    unlock_counted_unranked();
  }
};
static_assert(sizeof(ChannelLock) == 6, "what a channel without a buffer needs fits into 64 bytes");

}  // namespace weft::sched
