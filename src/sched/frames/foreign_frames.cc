// SPDX-License-Identifier: MIT
#include "sched/frames/foreign_frames.h"

#include <sys/auxv.h>
#include <unwind.h>

#include "os/code_range.h"
#include "sched/frames/runtime_text.h"
#include "sched/frames/unwinding.h"
#include "sched/frames/user_call.h"
#include "sched/frames/walked_frame.h"

extern "C" void weft_goroutine_main();

namespace weft::sched {
namespace {

constexpr std::size_t kMostFrames = 128;
constexpr std::ptrdiff_t kUnwinderNeeds = 24 * 1024;  // bytes of stack

constinit os::CodeRange own;       // the module with the runtime; written before there are goroutines
constinit bool is_shared = false;  // it is libweft.so

bool contains(const os::CodeRange& range, std::uintptr_t pc) { return pc - range.begin < range.end - range.begin; }

struct Walk {
  os::CodeRange home = own;
  std::size_t frames = 0;
  RuntimeFrames runtime{true};
  bool reached_main = false;
  FramesOnStack found = {};
};

_Unwind_Reason_Code next_frame(_Unwind_Context* context, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  const WalkedFrame frame(context);
  if (frame.leaves_handler) {  // first: the signal may have interrupted weft_goroutine_main between two goroutines
    walk.found.in_handler = true;
    return _URC_END_OF_STACK;
  }
  if (frame.function == reinterpret_cast<std::uintptr_t>(&weft_goroutine_main)) {
    walk.reached_main = true;
    return _URC_END_OF_STACK;
  }
  if (!walk.runtime.next(frame.pc, frame.function)) {
    walk.found.in_runtime = true;
    return _URC_END_OF_STACK;
  }
  if (own.begin != own.end && !contains(own, frame.pc)) {
    if (is_shared && walk.home.begin == own.begin) walk.home = os::code_found_without_lock(frame.pc);
    walk.found.foreign |= !contains(walk.home, frame.pc);
  }
  return ++walk.frames < kMostFrames ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

void find_program_code() noexcept {
  own = os::code_around(reinterpret_cast<const void*>(&weft_goroutine_main));
  is_shared = own.begin != own.end && !contains(own, static_cast<std::uintptr_t>(getauxval(AT_ENTRY)));
}

FramesOnStack look_at_frames(const Goroutine* g) noexcept {
  if (static_cast<std::byte*>(__builtin_frame_address(0)) - g->stack_bottom < kUnwinderNeeds) return {.foreign = true};
  const Unwinding unwinding;
  if (!unwinding.allowed()) return {.foreign = true, .in_runtime = true};
  Walk walk;
  _Unwind_Backtrace(next_frame, &walk);
  walk.found.foreign |= !walk.reached_main;
  return walk.found;
}

}  // namespace weft::sched
