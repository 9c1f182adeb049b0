// SPDX-License-Identifier: MIT
#pragma once
#include "base/atomic.h"
#include "os/wait_list_lock.h"

namespace weft::sched {

// The process's barrier for those who do without locked operations as long as nobody else comes (biased_lock.h, next_slot.h, and
// biased_flag.h behind the locks): they ask before they begin to, whoever comes passes the barrier.
//   Pace     a barrier takes 5 to 100 us, and an interrupt of every CPU. After each one, and after each thing that became somebody's own, nothing
//            does for a multiple of that time: what changes hands all the time costs what locked operations do.
struct PacedBarrier {
  using BackOff = os::BackOff;

  // May something become such that others need a barrier to come in?
  static bool may_rely() noexcept;
  static void light_fence() noexcept { base::compiler_fence(); }
  static void heavy_fence() noexcept;

  // May take milliseconds, in which nothing waits for it. Until then nobody may rely on it; where the kernel has no such barrier, never.
  static void enable() noexcept;
};

}  // namespace weft::sched
