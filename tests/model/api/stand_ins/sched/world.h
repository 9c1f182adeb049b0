// SPDX-License-Identifier: MIT
#pragma once
#include "sched/dispatch.h"

namespace weft::sched {
inline void refuse_in_forked_child() {}
}  // namespace weft::sched
