// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"

// Stopping the world: every other P is brought to a safe point, idle, or taken from its call.
//   Protocol   attention is set on each P; a P stops itself at its next scheduling point; idle Ps are taken from the list and
//              Ps in calls by their word. What slipped through is asked again every 100 us. One stopper at a time: who waits
//              for its turn is parked, so it can be stopped itself.
//   Ownership  a stopped P belongs to the stopper.
namespace weft::sched {

// May switch (waiting for its turn). Not nestable.
void stop_the_world() noexcept;
void start_the_world() noexcept;

// With the world stopped: use n Ps from now on.
void resize(std::uint32_t n) noexcept;
// With the world stopped: all runnable work moves to the new policy.
void change_policy(Policy& to) noexcept;

// For the end of the process: stops what can be stopped within the limit and never starts again.
void stop_the_world_for_exit(std::int64_t limit_ns) noexcept;

// Brings up Ps, sysmon's hooks and the first threads. Called once, by the runtime layer.
void start_scheduler(Policy& first, std::uint32_t maxprocs);

}  // namespace weft::sched
