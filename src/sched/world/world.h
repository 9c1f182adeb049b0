// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"

// Stopping the world: the stopper gets every other P. A running P stops at a safe point; a P that is idle or in a call
// is taken.
//   Protocol   The stopper sets attention on each P. A running P stops itself at its next scheduling point. Idle Ps are
//              taken from the idle list, Ps in calls by a CAS of their word. Every 100 us the stopper asks again, for
//              Ps that slipped through. There is one stopper at a time. The next one waits parked for its turn, so that
//              it can be stopped itself.
//   Ownership  A stopped P belongs to the stopper.
namespace weft::sched {

// May switch, while it waits for its turn. Nested calls of the stopper are only counted.
void stop_the_world() noexcept;
void start_the_world() noexcept;

// With the world stopped: changes the number of Ps to n.
void resize(std::uint32_t n) noexcept;
// With the world stopped: all runnable work moves to the new policy.
void change_policy(Policy& to) noexcept;

// For the end of the process: stops what can be stopped within the limit. The world is never started again.
void stop_the_world_for_exit(std::int64_t limit_ns) noexcept;

// Makes the Ps, all idle, with `first` as their policy. Threads are started when work comes. Called once, by the
// runtime layer.
void start_scheduler(Policy& first, std::uint32_t maxprocs);

}  // namespace weft::sched
