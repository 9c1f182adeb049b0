// SPDX-License-Identifier: MIT
#include "sched/state/control.h"
#include "weft/detail/holder_hint.h"

namespace weft::detail {
void switch_point_slow() noexcept { sched::point(); }
}  // namespace weft::detail
