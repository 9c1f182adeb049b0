// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"

namespace weft::sched {

// What a thread needs to have locks and flags of its own (biased_lock.h, biased_flag.h).
template <class Atomics>
class BasicLockOwner {
 public:
  // Number of a thread | whether the lock is its own.
  using Habit = std::uint16_t;
  static constexpr Habit kNobody = 0, kBiased = 1, kNumbers = 1 << 15;
  static constexpr bool is_biased(Habit habit) noexcept { return (habit & kBiased) != 0; }
  static std::uint32_t number_of(Habit habit) noexcept { return habit >> 1; }

  // A thread without a number uses locks as nobody, and owns none.
  Habit owns() const noexcept { return owns_; }
  Habit uses() const noexcept { return owns_ & ~kBiased; }
  void set_number(std::uint32_t number) noexcept { owns_ = static_cast<Habit>(number << 1 | kBiased); }

  typename Atomics::template atom<void*> window{nullptr};  // the lock or flag it is about to take as its own
  typename Atomics::template atom<std::uint32_t> lock_uses{0};  // of biased locks, by this thread (retreat_trial.h)
  std::uint64_t barrier_ticks = 0;  // this thread's: what barriers have taken of its time (paced_barrier.h)

 private:
  Habit owns_ = kBiased;  // nobody's: no lock has it
};

using LockOwner = BasicLockOwner<base::StdAtomics>;

}  // namespace weft::sched
