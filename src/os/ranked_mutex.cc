// SPDX-License-Identifier: MIT
#include "os/ranked_mutex.h"

#if WEFT_DEBUG_CHECKS
namespace weft::os {
namespace {
thread_local constinit std::uint32_t held_ranks = 0;
}

__attribute__((noinline)) void note_rank_taken(base::Rank rank) {
  const auto bit = static_cast<std::uint32_t>(rank);
  if (held_ranks >> bit != 0) base::fatal("weft: lock order: rank %u taken while holding ranks 0x%x", bit, held_ranks);
  held_ranks |= 1u << bit;
}

__attribute__((noinline)) void note_rank_released(base::Rank rank) {
  held_ranks &= ~(1u << static_cast<std::uint32_t>(rank));
}

__attribute__((noinline)) bool holds_any_rank() { return held_ranks != 0; }

}  // namespace weft::os
#endif
