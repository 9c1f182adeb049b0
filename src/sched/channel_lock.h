// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"
#include "base/check.h"
#include "os/current.h"
#include "os/wait_list_lock.h"
#include "sched/biased_lock.h"
#include "sched/machine.h"
#include "sched/paced_barrier.h"

namespace weft::sched {

// The Ms as owners.
struct MachineOwners : PacedBarrier {
  using Owner = LockOwner;
#if WEFT_DEBUG_CHECKS  // as often as can be: locks change hands in every test
  static constexpr std::uint8_t kLookEvery = 1, kStreak = 3;
#else
  static constexpr std::uint8_t kLookEvery = 16, kStreak = 240;
#endif

  static Owner* self() noexcept {
    Machine* m = os::current_m();
    return WEFT_LIKELY(m != nullptr) ? &m->lock_owner : nullptr;
  }
  static const Owner* find(Owner::Habit biased) noexcept;

  // A new M gets its number. Never given back: Ms are reused.
  static void enroll(Machine& m) noexcept;
};

// A channel's.
struct ChannelLock : os::OfWaitList<BiasedLock<base::StdAtomics, MachineOwners>> {
  void unlock_counted() noexcept {
    os::note_rank_released(base::Rank::kWaitList);
    unlock_counted_unranked();
  }
};
static_assert(sizeof(ChannelLock) == 6, "what a channel without a buffer needs fits into 64 bytes");

}  // namespace weft::sched
