// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <stop_token>

// Calls from the middle of the runtime into the user's code: functions of timers and contexts, stop callbacks, destructors of
// locals. They come with nothing in hand, neither a lock nor a P. Whoever looks at a stack to tell whether a goroutine may be
// stopped where it is (preempt.h, foreign_frames.h) knows them by these functions, between which and the user's there is no
// other code of the runtime (cmake/GatherText.cmake).
namespace weft::sched {

void call_user(void (*function)(void*), void* argument);
void request_stop_by_user(std::stop_source& stop);
void drop_by_user(std::shared_ptr<const void>& value);

// Of a stack, from the innermost frame outwards: has the user's code there been called by the runtime with something in hand?
class RuntimeFrames {
 public:
  // The walk begins in the runtime (at_check), or in the user's code (the handler of a signal).
  explicit RuntimeFrames(bool begins_in_runtime) noexcept : holds_nothing_(begins_in_runtime) {}
  // False: it has, no need to look any further. function: where the frame's begins.
  bool next(std::uintptr_t pc, std::uintptr_t function) noexcept;

 private:
  bool holds_nothing_;  // the frames of the runtime that come next
};

}  // namespace weft::sched
