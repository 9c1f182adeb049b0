// SPDX-License-Identifier: MIT
#pragma once
#include "sched/core/dispatch.h"

namespace weft::sched {
inline void refuse_in_forked_child() {}
inline bool ends_the_process() { return false; }
}  // namespace weft::sched
