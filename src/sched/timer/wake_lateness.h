// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/atomic.h"

namespace weft::sched {

// How late the kernel wakes a thread that sleeps until a time, at least: 20 us on a virtual machine, 3 on bare metal. Who asks for being woken so
// much earlier is there in time, and seldom too early.
//   Estimate  goes up slowly and down fast, so that most wake-ups are later than it: those that are not wait awake for the rest.
//   Threads   any; a note that gets lost is one of many.
class WakeLateness {
 public:
  static constexpr std::int64_t kMostNs = 30'000;  // beyond that it is not the timer that is late: the CPU was in use

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
