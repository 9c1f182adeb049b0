// SPDX-License-Identifier: MIT
#include "os/backtrace.h"

#include <unwind.h>

#include <cstdint>

#include "os/frame_record.h"

namespace weft::os {
namespace {

struct Capture {
  void** out;
  std::size_t max;
  std::size_t skip;
  std::size_t count;
};

_Unwind_Reason_Code store_frame(_Unwind_Context* context, void* data) {
  Capture& capture = *static_cast<Capture*>(data);
  if (capture.skip > 0) {
    --capture.skip;
    return _URC_NO_REASON;
  }
  if (capture.count == capture.max) return _URC_END_OF_STACK;
  int is_exact = 0;  // set where a signal interrupted the frame; other frames have return addresses
  const std::uintptr_t ip = _Unwind_GetIPInfo(context, &is_exact);
  if (ip == 0) return _URC_END_OF_STACK;
  capture.out[capture.count++] = reinterpret_cast<void*>(is_exact != 0 ? ip : ip - 1);
  return _URC_NO_REASON;
}

}  // namespace

// Not inlined, so that exactly one frame is its own.
__attribute__((noinline)) std::size_t capture_backtrace(void** out, std::size_t max, std::size_t skip) noexcept {
  Capture capture{out, max, skip + 1, 0};
  if (max > 0) _Unwind_Backtrace(store_frame, &capture);
  asm volatile("");  // no tail call: this frame has to be there
  return capture.count;
}

void warm_up_unwinder() noexcept {
  void* frames[8];
  capture_backtrace(frames, 8, 0);
}

WEFT_READS_STACKS std::size_t capture_from_frame_pointer(const void* frame_pointer, const void* pc,
                                                         const void* stack_low, const void* stack_high, void** out,
                                                         std::size_t max) noexcept {
  const auto high = reinterpret_cast<std::uintptr_t>(stack_high);
  std::size_t count = 0;
  if (pc != nullptr && count < max) out[count++] = const_cast<void*>(pc);
  std::uintptr_t frame = reinterpret_cast<std::uintptr_t>(frame_pointer);
  std::uintptr_t lowest = reinterpret_cast<std::uintptr_t>(stack_low);
  while (count < max && leads_on(frame, lowest, high)) {
    const auto* const record = reinterpret_cast<const volatile FrameRecord*>(frame);
    const std::uintptr_t return_address = strip_signature(record->return_address);
    const std::uintptr_t caller = record->caller;
    if (return_address == 0) break;
    out[count++] = reinterpret_cast<void*>(return_address - 1);
    lowest = frame + sizeof(FrameRecord);
    frame = caller;
  }
  return count;
}

}  // namespace weft::os
