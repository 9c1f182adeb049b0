// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/queue/runnable.h"

// Looking at descriptors (model/work_source.h says who does, and when).
namespace weft::sched {

// Looks, unless another thread does at this moment. The caller decides where the result goes.
void look_at_network(RunnableList& ready) noexcept;
// Descriptors are registered, no M blocks in the source, and none has looked for so long.
bool network_unwatched_for(std::int64_t ns) noexcept;

}  // namespace weft::sched
