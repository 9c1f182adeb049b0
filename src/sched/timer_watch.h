// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// Who wakes up for timers: some M sleeps until the earliest of all Ps is due (search.cc), the passive spinner or, if every P is
// idle, the poller.
namespace weft::sched {

// When does the earliest timer of all Ps fire?
std::int64_t next_timer_ns() noexcept;
// When to wake up for it, and for which new timer before that.
//   Windows     a wake-up costs more than what most timers do. Where they are dense, those that are due within a window go together: the
//               thread wakes up when the last of them is due, not when the window ends, so that nobody is later than need be.
//               The next window begins with the next timer. A few timers, or timers far apart, are never late for this.
struct TimerWake {
  std::int64_t at_ns;
  std::int64_t interrupted_before_ns;
};
TimerWake next_timer_wake() noexcept;
// A timer was added to a heap, whose lock the caller has just given back: wakes a watcher that would sleep past it.
void timer_added(std::int64_t when_ns) noexcept;

}  // namespace weft::sched
