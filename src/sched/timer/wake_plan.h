// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "os/futex.h"

// When to wake up for timers that are due close together. A wake-up costs more than what most timers do. So one wake-up
// serves several timers, and the earlier ones of them are late.
//   Together  The candidates are the timers due within kWindowNs of the first one. The thread wakes up when one of them
//             is due, and that wake-up serves it and all candidates before it. The chosen one has the highest score:
//             twice the number of timers due at most kCloseNs before it (which are hardly late), plus the number of all
//             timers that it serves.
//             For a thousand sleepers that come at random this needs a tenth fewer wake-ups than serving all timers
//             within 250 us together, and the median is a tenth less late (the test simulates both).
//   Numbers   chosen for that load and its bounds (median 120 us, 99 of 100 within 400 us), and checked on it. Other
//             loads may want other numbers.
//   Crowds    of more than kMost timers are not looked at one by one: the thread wakes up at fixed intervals.
//   Few       timers (fewer than kFewest in the window), or timers that are far apart, are never made late by this.
//   Next      The plan also tells the wake-up after the next, where it is known (os/early_timer.h). It usually comes
//             true, because timers that are started meanwhile are usually due later.
namespace weft::sched {

struct TimerWake {
  std::int64_t at_ns;
  std::int64_t interrupted_before_ns;  // a new timer due before this wakes the sleeper: it would be too late
  std::int64_t then_ns;                // the wake-up after this one; kNever: not known
};

class WakePlan {
 public:
  static constexpr std::int64_t kNever = os::kForever;
  static constexpr std::int64_t kWindowNs = 320'000, kCloseNs = 110'000, kCrowdNs = 250'000;
  static constexpr std::uint32_t kMost = 64, kFewest = 3;

  explicit WakePlan(std::int64_t first_ns) noexcept : first_ns_(first_ns) {}

  // The plan wants the timers that are due by until_ns(), in any order. add() returns false when it wants no more.
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
