// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

namespace weft::detail {

// Storage of a primitive's lock and list of waiters (all zero: unlocked, empty); what they are is in src/sched/wait_queue.h.
struct wait_queue {
  alignas(void*) std::byte storage[3 * sizeof(void*)]{};
};

}  // namespace weft::detail
