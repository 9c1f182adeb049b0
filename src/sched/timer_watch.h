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
//   Far timers  most are time limits that never come, stopped long before. Who has a P tells nobody of one that is far (kFarNs), and spares
//               itself a full fence: sysmon, which looks every 10 ms while any P is busy, reminds the watchers well before.
//               Before sysmon sleeps any longer it takes far_from_ns back. Whoever takes a P after that sees so, or rings it (sysmon.asleep);
//               whoever had one before sysmon saw every P idle has its timers seen by the reminder after that look.
//               If the system keeps sysmon from running for 190 ms, such a timer is late by as much as that was longer.
void timer_added(std::int64_t when_ns) noexcept;
inline constexpr std::int64_t kFarNs = 200'000'000;
// Wakes a watcher that would sleep past a timer that is due by then.
void remind_watchers(std::int64_t until_ns) noexcept;

}  // namespace weft::sched
