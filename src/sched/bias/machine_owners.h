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
#if WEFT_DEBUG_CHECKS  // as often as can be: locks change hands in every test
  static constexpr std::uint8_t kStreak = 3;
#else
  static constexpr std::uint8_t kStreak = 240;
#endif

  static Owner* self() noexcept { return current_lock_owner(); }
  static const Owner* find(Owner::Habit biased) noexcept;
  static void note_meeting() noexcept { sched::note_meeting(); }
  // Only its own thread writes it.
  static void note_use(Owner& self) noexcept { self.lock_uses.store_relaxed(self.lock_uses.load_relaxed() + 1); }
  // Of all Ms so far; wraps.
  static std::uint32_t uses_of_all() noexcept;
  static std::uint64_t begin_wait() noexcept { return os::ticks(); }
  static void note_wait(std::uint64_t begin) noexcept { note_wait_for_lock(begin); }

  // A new M gets its number. Never given back: Ms are reused.
  static void enroll(Owner& owner, std::uint32_t number) noexcept;
};

}  // namespace weft::sched
