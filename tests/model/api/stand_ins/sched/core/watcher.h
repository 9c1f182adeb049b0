// SPDX-License-Identifier: MIT
#pragma once
#include "sched/core/dispatch.h"

namespace weft::sched {
inline void timer_added(std::int64_t) {}
}  // namespace weft::sched
