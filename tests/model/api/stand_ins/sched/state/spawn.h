// SPDX-License-Identifier: MIT
#pragma once
#include "sched/core/dispatch.h"

namespace weft::sched {
inline void end_locals() {}
}  // namespace weft::sched
