// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/wait/waiter.h"
#include "weft/weighted_semaphore.h"

namespace weft::detail {

// A waiter for permits of a weighted semaphore; also the wait object of its goroutine, for reports.
struct weighted_wait : sched::Waiter {
  weighted_wait(const weighted_core& of, std::uint64_t n) noexcept : semaphore(&of), wanted(n) {}
  const weighted_core* semaphore;
  std::uint64_t wanted;
};

}  // namespace weft::detail
