// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/rule/retreat_trial.h"

// A P that shares too closely with others gives its work to one of them (sharing_meter.h).
namespace weft::sched {

struct Processor;

// Before the first thread: Ps that meet too often at locks are asked to retreat from now on.
void watch_meetings() noexcept;

// Owner of p, on g0: what attention to kAttentionRetreat does. Everything p could run goes to another busy P, if there is one.
void retreat(Processor& p) noexcept;
// Sysmon: judges the retreat that is on trial, if one is. Returns when to look again.
std::int64_t look_at_retreat(RetreatTrial& trial, std::int64_t now_ns) noexcept;

}  // namespace weft::sched
