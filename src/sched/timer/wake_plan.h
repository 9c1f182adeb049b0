// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "os/futex.h"

// When to wake up for timers that are due close together. A wake-up costs more than what most timers do, so some of them go together, the early
// ones late.
//   Together  from the first on, within a window. Not always all of those: the thread wakes up when one of them is due, the one that has
//             most others close before it, which are hardly late; each that is taken along counts half as much. A thousand sleepers that come
//             at random need a tenth fewer wake-ups than if all those within 250 us went together, and their median is a tenth less
//             late (the test simulates both).
//   Numbers   chosen for that load and its bounds (median 120 us, 99 of 100 within 400), and checked on it; other loads may want others.
//   Crowds    of more than kMost are not looked at one by one: the thread wakes up at fixed intervals.
//   Few       of them, or far apart, are never late for this.
//   Next      the wake-up after the next is told as well where it is known (os/early_timer.h): timers that are started meanwhile are usually due later.
namespace weft::sched {

struct TimerWake {
  std::int64_t at_ns;
  std::int64_t interrupted_before_ns;  // by a new timer that is due before this: it would be too late
  std::int64_t then_ns;                // when next; kNever: not known
};

class WakePlan {
 public:
  static constexpr std::int64_t kNever = os::kForever;
  static constexpr std::int64_t kWindowNs = 320'000, kCloseNs = 110'000, kCrowdNs = 250'000;
  static constexpr std::uint32_t kMost = 64, kFewest = 3;

  explicit WakePlan(std::int64_t first_ns) noexcept : first_ns_(first_ns) {}

  // Which timers are wanted: those due by then, in any order. False: no more.
  std::int64_t until_ns() const noexcept { return first_ns_ + 2 * kWindowNs + kWindowNs / 4; }
  bool add(std::int64_t when_ns) noexcept {
    if (size_ == kMost) return !(is_crowd_ = true);
    when_[size_++] = when_ns;
    return true;
  }

  TimerWake make() noexcept;

 private:
  std::uint32_t last_together(std::uint32_t first) const noexcept;

  std::int64_t first_ns_;
  std::uint32_t size_ = 0;
  bool is_crowd_ = false;
  std::int64_t when_[kMost];
};

}  // namespace weft::sched
