// SPDX-License-Identifier: MIT
#include "sched/state/run_sample.h"

#include "os/clock.h"

namespace weft::sched {

void close_open_sample(Goroutine* g) noexcept {
  const std::uint64_t ran = os::ticks() - g->ready_at;
  g->ready_at = 0;
  g->habits.note_sample(ran > os::us_to_ticks(rule::kLongUs));
}

}  // namespace weft::sched
