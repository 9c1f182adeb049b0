// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/queue/runnable.h"

// Looking at descriptors. model/work_source.h says which threads do, and when.
namespace weft::sched {

// Looks, unless another thread does at this moment. The caller decides where the ready goroutines go.
void look_at_network(RunnableList& ready) noexcept;
// Descriptors are registered, no M blocks in the source, and no thread has looked for `ns`.
bool network_unwatched_for(std::int64_t ns) noexcept;

}  // namespace weft::sched
