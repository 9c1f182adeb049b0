// SPDX-License-Identifier: MIT
// Which CPUs the programs without a runtime may use.
#pragma once

#include <sched.h>

#include "common/bench.h"

namespace bench {

inline std::vector<int> allowed_cpus() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) fail("sched_getaffinity failed");
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  return cpus;
}

// Threads have no maxprocs: the nearest thing is to allow the process that many CPUs.
inline void use_processors(int count) {
  const std::vector<int> cpus = allowed_cpus();
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  for (std::size_t i = 0; i < cpus.size() && i < static_cast<std::size_t>(count); ++i) CPU_SET(cpus[i], &chosen);
  if (sched_setaffinity(0, sizeof chosen, &chosen) != 0) fail("sched_setaffinity failed");
}

// Pins the calling thread. Raw limits pin so that they show the hardware, not where the kernel happens to put a new
// thread (often on the CPU of its creator, for milliseconds).
inline void pin_to(const std::vector<int>& cpus, int index) {
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  CPU_SET(cpus[static_cast<std::size_t>(index) % cpus.size()], &chosen);
  if (sched_setaffinity(0, sizeof chosen, &chosen) != 0) fail("sched_setaffinity failed");
}

}  // namespace bench
