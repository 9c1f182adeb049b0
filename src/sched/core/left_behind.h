// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/queue/runnable.h"

// What thieves take besides the policy's queues: the inboxes of other Ps, and slots whose Ps have not dispatched for a
// while.
namespace weft::sched {

struct Processor;

// Owner of thief. Takes the inbox of another P: returns one entry to run, and gives the rest to the policy on thief.
Runnable take_from_inboxes(Processor& thief) noexcept;
// Owner of thief. Takes what is in a slot whose P has not dispatched since its tick was seen_ticks[id].
Runnable take_from_aged_slots(Processor& thief, const std::uint32_t* seen_ticks) noexcept;

}  // namespace weft::sched
