// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/rule/retreat_trial.h"

// Retreats: a P that shares too closely with others gives its work to one of them and stays apart (sharing_meter.h).
namespace weft::sched {

struct Processor;

// Before the first thread: from now on Ps that meet others too often at locks are asked to retreat.
void watch_meetings() noexcept;

// Owner of p, on g0: answers kAttentionRetreat. Everything p could run goes to another busy P, if there is one.
void retreat(Processor& p) noexcept;
// Sysmon: judges the retreat that is on trial, if there is one. Returns when to look again.
std::int64_t look_at_retreat(RetreatTrial& trial, std::int64_t now_ns) noexcept;

}  // namespace weft::sched
