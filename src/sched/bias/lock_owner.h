// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"

namespace weft::sched {

// What a thread needs to own biased locks and flags (biased_lock.h, biased_flag.h).
template <class Atomics>
class BasicLockOwner {
 public:
  // Bits 1 to 15: the number of a thread. Bit 0 (kBiased): the lock is that thread's own.
  using Habit = std::uint16_t;
  static constexpr Habit kNobody = 0, kBiased = 1, kNumbers = 1 << 15;
  static constexpr Habit kSlow = 0xffff & ~kBiased;  // of a lock that no thread may own; as high as no number
  static constexpr bool is_biased(Habit habit) noexcept { return (habit & kBiased) != 0; }
  static std::uint32_t number_of(Habit habit) noexcept { return habit >> 1; }

  // A thread without a number counts as kNobody when it uses locks, and owns none.
  Habit owns() const noexcept { return owns_; }
  Habit uses() const noexcept { return owns_ & ~kBiased; }
  void set_number(std::uint32_t number) noexcept { owns_ = static_cast<Habit>(number << 1 | kBiased); }

  typename Atomics::template atom<void*> window{nullptr};  // the lock or flag of its own that it is about to take
  typename Atomics::template atom<std::uint32_t> lock_uses{0};  // its uses of biased locks (retreat_trial.h)
  std::uint64_t barrier_ticks = 0;  // only this thread uses it: its time spent in barriers (paced_barrier.h)

 private:
  Habit owns_ = kBiased;  // no number: no lock has this habit
};

using LockOwner = BasicLockOwner<base::StdAtomics>;

}  // namespace weft::sched
