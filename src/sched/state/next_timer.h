// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/timer/wake_plan.h"

// When the next timer of all Ps is due.
namespace weft::sched {

std::int64_t next_timer_ns() noexcept;
// When to wake up for it or, where there are many, for it and others.
TimerWake next_timer_wake() noexcept;

}  // namespace weft::sched
