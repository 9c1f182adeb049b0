// SPDX-License-Identifier: MIT
#include "sched/frames/unwinding.h"

#include <sched.h>

#include "os/clock.h"

namespace weft::sched {

void Unwinding::end(std::int64_t deadline_ns) noexcept {
  walks_.fetch_or_relaxed(kEnded);
  while (walks_.load_acquire() != kEnded && os::now_ns() < deadline_ns) sched_yield();  // pairs: unwinding
}

}  // namespace weft::sched
