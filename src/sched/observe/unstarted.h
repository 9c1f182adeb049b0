// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sched/queue/runnable.h"

// For dumps: goroutines that have been spawned and have not run yet. They are records on the Ps and in the shared
// queues.
//   When   The world is stopped, or every P is idle. A P that did not stop in time (SIGQUIT waits for 1 s) is left out,
//          because its M may start its records, and free what they point to.
namespace weft::sched {

struct Unstarted {
  std::uint64_t id = 0;      // 0: it gets one when it starts
  std::uint64_t parent = 0;  // 0: not known
  std::int32_t site = 0;     // relative to spawn_anchor; 0: not known
  std::string name;
};
std::vector<Unstarted> unstarted_goroutines();

// The same records as they are, and started goroutines among them. For a forked copy: neither allocates nor locks.
void visit_unstarted_unlocked(void (*visit)(void* context, Runnable one), void* context) noexcept;

}  // namespace weft::sched
