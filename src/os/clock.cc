// SPDX-License-Identifier: MIT
#include "os/clock.h"

#include "base/atomic.h"

namespace weft::os {
namespace {
base::Atom<std::uint64_t> per_us{1};
}

void calibrate_ticks() noexcept {
  const std::int64_t start_ns = now_ns();
  const std::uint64_t start = ticks();
  std::int64_t elapsed_ns;
  do elapsed_ns = now_ns() - start_ns;
  while (elapsed_ns < 100'000);
  const std::uint64_t elapsed = ticks() - start;
  const std::uint64_t rate = elapsed * 1000 / static_cast<std::uint64_t>(elapsed_ns);
  per_us.store_relaxed(rate == 0 ? 1 : rate);  // no order: a stale 1 only makes a heuristic impatient
}

std::uint64_t ticks_per_us() noexcept { return per_us.load_relaxed(); }

}  // namespace weft::os
