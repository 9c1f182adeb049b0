// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/timer/wake_plan.h"

// When the earliest timer of all Ps is due.
namespace weft::sched {

std::int64_t next_timer_ns() noexcept;
// When to wake up for it or, if there are many timers, for it together with others (wake_plan.h).
TimerWake next_timer_wake() noexcept;

}  // namespace weft::sched
