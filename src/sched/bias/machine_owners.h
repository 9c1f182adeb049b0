// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/check.h"
#include "os/clock.h"
#include "sched/bias/current_owner.h"
#include "sched/bias/meeting.h"
#include "sched/bias/paced_barrier.h"

namespace weft::sched {

// The Ms as owners of locks (biased_lock.h).
struct MachineOwners : PacedBarrier {
  using Owner = LockOwner;
#if WEFT_DEBUG_CHECKS  // as soon as possible, so that locks change owners in every test
  static constexpr std::uint8_t kStreak = 3;
#else
  static constexpr std::uint8_t kStreak = 240;
#endif

  static Owner* self() noexcept { return current_lock_owner(); }
  static const Owner* find(Owner::Habit biased) noexcept;
  static void note_meeting() noexcept { sched::note_meeting(); }
  static void note_use(Owner& self) noexcept { self.lock_uses.bump(); }
  // The sum of lock_uses of all Ms so far. It wraps.
  static std::uint32_t uses_of_all() noexcept;
  static std::uint64_t begin_wait() noexcept { return os::ticks(); }
  static void note_wait(std::uint64_t begin) noexcept { note_wait_for_lock(begin); }

  // Gives a new M its number. The number is never given back, because the Machine is reused.
  static void enroll(Owner& owner, std::uint32_t number) noexcept;
};

}  // namespace weft::sched
