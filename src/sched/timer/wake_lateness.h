// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/atomic.h"

namespace weft::sched {

// Estimates how late at least the kernel wakes a thread that sleeps until a time: 20 us on a virtual machine, 3 us on
// bare metal. Timer sleeps are shortened by this estimate, so that the thread wakes in time, and seldom too early.
//   Estimate  goes up slowly and down fast, so that most wake-ups are later than it. A thread that wakes too early
//             waits for the rest without sleeping.
//   Threads   any. Two threads that note at once may lose one note, which is one of many.
class WakeLateness {
 public:
  static constexpr std::int64_t kMostNs = 30'000;  // 30 us: beyond that the CPU was in use, and the timer was not late

  std::int64_t head_start_ns() const noexcept { return estimate_.load_relaxed(); }
  void note(std::int64_t late_ns) noexcept {
    const std::int64_t before = estimate_.load_relaxed(), more = late_ns - before;
    const std::int64_t after = more < 0 ? before + more / 2 - 1 : before + std::min(more / 16, kStepNs);
    estimate_.store_relaxed(std::clamp<std::int64_t>(after, 0, kMostNs));
  }

 private:
  static constexpr std::int64_t kStepNs = 250;
  base::Atom<std::int64_t> estimate_{0};
};

}  // namespace weft::sched
