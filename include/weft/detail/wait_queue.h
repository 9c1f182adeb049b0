// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "weft/detail/errno.h"

namespace weft::detail {

// Storage for the lock and the list of waiters of a primitive (all zero: unlocked, empty). Their types are in
// src/sched/wait/wait_queue.h. The name is what reports call the primitive: a text that lives as long as the primitive,
// usually a literal; null: none.
struct wait_queue {
  constexpr wait_queue() noexcept = default;
  constexpr explicit wait_queue(const char* its_name) noexcept : name(its_name) {}
  alignas(void*) std::byte storage[3 * sizeof(void*)]{};
  const char* name = nullptr;
};

// Reads the state of primitives for reports (src/api/wait_facts.cc).
struct inspector;

}  // namespace weft::detail
