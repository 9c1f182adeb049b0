// SPDX-License-Identifier: MIT
#pragma once
#include "sched/model/policy.h"
#include "weft/runtime.h"

// The policies that the runtime can choose from. Each is one object that lives as long as the process.
namespace weft::runtime {

// Throws std::invalid_argument for a policy that does not exist yet.
sched::Policy& policy_of(policy_kind kind);
policy_kind kind_of(const sched::Policy& policy) noexcept;

// For tests of the seam, before the runtime starts: this policy takes the place of classic.
void substitute_classic(sched::Policy& substitute) noexcept;

}  // namespace weft::runtime
