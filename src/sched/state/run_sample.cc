// SPDX-License-Identifier: MIT
#include "sched/state/run_sample.h"

#include <algorithm>

#include "os/clock.h"
#include "sched/state/scheduler.h"

namespace weft::sched {

void close_open_sample(Goroutine* g) noexcept {
  const std::uint64_t ran = os::ticks() - g->ready_at;
  g->ready_at = 0;
  if (ran > os::us_to_ticks(settings.long_us)) {
    g->habits.short_runner = 0;
    g->habits.long_runner = static_cast<std::uint8_t>(std::min<int>(g->habits.long_runner + 2, kLongRunnerMax));
  } else {
    if (g->habits.short_runner < kShortRunner) ++g->habits.short_runner;
    if (g->habits.long_runner > 0) --g->habits.long_runner;
  }
  g->habits.watched = g->habits.long_runner > 1;
}

}  // namespace weft::sched
