// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/check.h"
#include "os/current.h"
#include "sched/machine.h"
#include "sched/paced_barrier.h"

namespace weft::sched {

// The Ms as owners of locks (biased_lock.h).
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

}  // namespace weft::sched
