// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/queue/runnable.h"

// What thieves take beside the policy's queues: the inboxes of other Ps, and slots that their Ps do not come to.
namespace weft::sched {

struct Processor;

// Owner of thief. Takes another P's inbox: one to run, the rest to the thief's policy.
Runnable take_from_inboxes(Processor& thief) noexcept;
// Owner of thief. Takes from a slot whose P has not dispatched since its tick was seen_ticks[id].
Runnable take_from_aged_slots(Processor& thief, const std::uint32_t* seen_ticks) noexcept;

}  // namespace weft::sched
