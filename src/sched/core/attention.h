// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"

// How an M answers requests to its P (Attention in model/processor.h): stop, give way, retreat, lend the P.
namespace weft::sched {

// Owner of m.p, on g0, with attention set. False: m has lost the P, to the stopper of the world or as a loan to an
// exile.
bool attend(Machine& m) noexcept;

}  // namespace weft::sched
