// SPDX-License-Identifier: MIT
#include "sched/model/hooks.h"

namespace weft::sched {

Hooks hooks;

}  // namespace weft::sched
