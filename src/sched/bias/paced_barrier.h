// SPDX-License-Identifier: MIT
#pragma once
#include "base/atomic.h"
#include "os/wait_list_lock.h"

namespace weft::sched {

// The barrier of the process for objects that one thread uses without locked operations as long as no other thread
// comes: biased_lock.h, next_slot.h, and biased_flag.h (whose flags have an owner only where the locks have one). The
// thread that makes an object its own asks may_rely() before. A thread that wants another's object passes
// heavy_fence().
//   Pace     A barrier takes 5 to 100 us, and interrupts every CPU that runs the process. After each barrier, and each
//            time that an object got an owner, no object gets one for a multiple of that time. So an object that
//            changes hands all the time costs what locked operations cost.
struct PacedBarrier {
  using BackOff = os::BackOff;

  // May an object get an owner now, so that other threads need a barrier to use it?
  static bool may_rely() noexcept;
  static void light_fence() noexcept { base::compiler_fence(); }
  static void heavy_fence() noexcept;

  // May take milliseconds, during which no thread waits for it. Until it is done may_rely() is false. Where the kernel
  // has no such barrier, may_rely() stays false.
  static void enable() noexcept;
};

}  // namespace weft::sched
