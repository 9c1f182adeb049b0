// SPDX-License-Identifier: MIT
#pragma once
#include <unwind.h>
#include <cstdint>

#include "arch/interrupted_frame.h"

namespace weft::sched {

// A frame that a walk of a stack (_Unwind_Backtrace) has come to. All walks tell by the same rule where a signal
// handler ends:
//   interrupted      the signal came in this frame. The frame visited before it is the kernel's signal frame, and the
//                    frames before that are the handler's.
//   leaves_handler   interrupted, or already the kernel's signal frame: not every unwinder finds its way beyond that.
struct WalkedFrame {
  explicit WalkedFrame(_Unwind_Context* context) noexcept {
    int exact = 0;
    const std::uintptr_t ip = _Unwind_GetIPInfo(context, &exact);
    interrupted = exact != 0;
    leaves_handler = interrupted || arch::ends_handler(ip);
    pc = interrupted ? ip : ip - 1;  // a return address points past the call, so step back one byte
    function = _Unwind_GetRegionStart(context);
  }
  std::uintptr_t pc;
  std::uintptr_t function;  // where it begins
  bool interrupted;
  bool leaves_handler;
};

}  // namespace weft::sched
