// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::detail {

// A goroutine that has not run yet: 64 bytes, no stack. Six words of closure live in it; larger ones on the heap.
struct alignas(64) spawn_record {
  std::uintptr_t link;  // free list, global queue: a tagged reference (sched/queue/runnable.h)
  std::int32_t entry;   // function that runs the closure, relative to spawn_anchor
  std::int32_t site;    // where it was spawned, relative to spawn_anchor; 0: unknown
  alignas(8) std::byte closure[48];
};
static_assert(sizeof(spawn_record) == 64);

using spawn_entry = void (*)(spawn_record*);

// Code addresses are stored as 32-bit distances from this function: half the size, and nearly always in reach.
void spawn_anchor() noexcept;

}  // namespace weft::detail
