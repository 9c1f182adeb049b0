// SPDX-License-Identifier: MIT
#pragma once
#include "sched/model/policy.h"

namespace weft::policy {

// Does it run next on its P? New and woken goroutines do, and a single sleeper that runs briefly.
inline bool is_for_slot(sched::Why why, sched::Known known) noexcept {
  return why <= sched::Why::kUnlock || known == sched::Known::kRunsBriefly;
}

}  // namespace weft::policy
