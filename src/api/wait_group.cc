// SPDX-License-Identifier: MIT
#include "weft/wait_group.h"

#include <climits>

#include "sched/model/status.h"
#include "sched/state/spawn.h"
#include "weft/error.h"

namespace weft {

void wait_group::add(int n) {
  if (n < 0) {
    if (!countdown_.subtract(static_cast<std::uint64_t>(-std::int64_t{n})))
      throw logic_error("weft: negative wait_group counter");
  } else if (!countdown_.add(static_cast<std::uint64_t>(n), INT_MAX)) {
    throw logic_error("weft: wait_group counter overflow");
  }
}

bool wait_group::wait_until_ns(std::int64_t deadline_ns) {
  return countdown_.wait(sched::WaitReason::kWaitGroup, this, deadline_ns);
}

void end_of_call(wait_group* group) noexcept {
  sched::end_locals();
  group->done();
}

}  // namespace weft
