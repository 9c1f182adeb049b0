// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

// Goroutines that have been spawned and have not run yet: records on the Ps and in the shared queues, for dumps.
//   When   the world is stopped, or every P is idle. A P that did not stop in time (SIGQUIT waits for a second) is left
//          out: its owner may start what it holds, and free what a record points to.
namespace weft::sched {

struct Unstarted {
  std::uint64_t id = 0;      // 0: gets one when it starts
  std::uint64_t parent = 0;  // 0: not known
  std::int32_t site = 0;     // relative to spawn_anchor; 0: not known
  std::string name;
};
std::vector<Unstarted> unstarted_goroutines();

}  // namespace weft::sched
