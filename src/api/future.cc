// SPDX-License-Identifier: MIT
#include "weft/future.h"

#include "sched/model/status.h"

namespace weft::detail {

bool future_core::wait(std::int64_t deadline_ns) noexcept {
  return pending_.wait(sched::WaitReason::kFuture, this, deadline_ns);
}

}  // namespace weft::detail
