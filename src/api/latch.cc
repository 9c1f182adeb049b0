// SPDX-License-Identifier: MIT
#include "weft/latch.h"

#include "sched/model/status.h"
#include "weft/error.h"

namespace weft {

void detail::throw_negative_latch() { throw logic_error("weft: latch: the expected number is negative"); }

void latch::count_down(std::ptrdiff_t n) {
  if (n < 0 || !countdown_.subtract(static_cast<std::uint64_t>(n)))
    throw logic_error("weft: latch::count_down: by more than is left, or by a negative number");
}

bool latch::wait_until_ns(std::int64_t deadline_ns) const {
  return countdown_.wait(sched::WaitReason::kLatch, this, deadline_ns);
}

}  // namespace weft
