// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"
#include "base/check.h"
#include "os/current.h"
#include "os/wait_list_lock.h"
#include "sched/biased_lock.h"
#include "sched/machine.h"

namespace weft::sched {

// The Ms as owners.
struct MachineOwners {
  using Owner = LockOwner;
  using BackOff = os::BackOff;
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
  static bool may_bias() noexcept;
  static void light_fence() noexcept { base::compiler_fence(); }
  static void heavy_fence() noexcept;

  // A new M gets its number. Never given back: Ms are reused.
  static void enroll(Machine& m) noexcept;
  // May take milliseconds, in which nothing waits for it. Until then no lock is biased; where the kernel has no such barrier, never.
  static void enable() noexcept;
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
