// SPDX-License-Identifier: MIT
#include "weft/event.h"

#include "sched/model/status.h"

namespace weft {

bool event::wait_until_ns(std::int64_t deadline_ns) {
  return countdown_.wait(sched::WaitReason::kEvent, this, deadline_ns);
}

}  // namespace weft
