// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// Who wakes up for timers: some M sleeps until the earliest of all Ps is due (search.cc), the passive spinner or, if every P is
// idle, the poller.
namespace weft::sched {

// When does the earliest timer of all Ps fire?
std::int64_t next_timer_ns() noexcept;
// When to wake up for it. With many timers not right after the last time: those that come due meanwhile go together.
std::int64_t next_timer_wake_ns() noexcept;
// A timer was added: wakes a watcher that would sleep past it.
void timer_added(std::int64_t when_ns) noexcept;

}  // namespace weft::sched
