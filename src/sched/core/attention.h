// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"

// What an M does when others want the attention of its P (processor.h).
namespace weft::sched {

// Owner of m.p, with attention set. False: the P is gone, to the stopper of the world or as a loan.
bool attend(Machine& m) noexcept;

}  // namespace weft::sched
