// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"

// What a thief takes from other Ps.
namespace weft::sched {

// The ticks of all Ps at one moment. A P whose tick is still the same has not moved since.
struct Ticks {
  std::uint32_t at[kMaxProcessors];
  void read() noexcept {
    for (std::uint32_t i = 0; i < maxprocs(); ++i) at[i] = scheduler.processors[i]->tick.load_relaxed();
  }
};

// The thief owns p. Takes work that the policy offers on other Ps, or what was given to them. `desperate`: also from
// slots whose Ps have not moved since `seen`, which is not null then.
Runnable steal(Processor& p, bool desperate, const Ticks* seen) noexcept;

}  // namespace weft::sched
