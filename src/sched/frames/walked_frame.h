// SPDX-License-Identifier: MIT
#pragma once
#include <unwind.h>
#include <cstdint>

#include "arch/interrupted_frame.h"

namespace weft::sched {

// A frame that a walk of a stack has come to (_Unwind_Backtrace). One rule for all walks tells where a handler of a signal ends:
//   interrupted      the signal came there; the frame before is the kernel's, and those before that are the handler's
//   leaves_handler   that, or already the frame of the kernel's, behind which not every unwinder finds its way
struct WalkedFrame {
  explicit WalkedFrame(_Unwind_Context* context) noexcept {
    int exact = 0;
    const std::uintptr_t ip = _Unwind_GetIPInfo(context, &exact);
    interrupted = exact != 0;
    leaves_handler = interrupted || arch::ends_handler(ip);
    pc = interrupted ? ip : ip - 1;  // who has called stands behind the call
    function = _Unwind_GetRegionStart(context);
  }
  std::uintptr_t pc;
  std::uintptr_t function;  // where it begins
  bool interrupted;
  bool leaves_handler;
};

}  // namespace weft::sched
