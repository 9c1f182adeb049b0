// SPDX-License-Identifier: MIT
#include "sched/state/scheduler.h"

namespace weft::sched {

constinit Scheduler scheduler;

std::uint64_t total(Counter counter) noexcept {
  std::uint64_t sum = scheduler.shared_counters.read(counter);
  const std::uint32_t made = scheduler.processors_made.load_acquire();  // pairs: processors_made
  for (std::uint32_t i = 0; i < made; ++i) sum += scheduler.processors[i]->counters.read(counter);
  return sum;
}

}  // namespace weft::sched
