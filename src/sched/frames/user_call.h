// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

// Calls from the middle of the runtime into the user's code: functions of timers and contexts, stop callbacks, destructors of
// locals. They come with nothing in hand, neither a lock nor a P. Whoever looks at a stack to tell whether a goroutine may be
// stopped where it is (preempt.h, foreign_frames.h) knows them by these functions, between which and the user's there is no
// other code of the runtime (cmake/GatherText.cmake).
namespace weft::sched {

void call_user(void (*function)(void*), void* argument);
// And gives the source back, which is there: nothing is left of it.
void request_stop_by_user(std::optional<std::stop_source>& stop);
void drop_by_user(std::shared_ptr<const void>& value);

// Calls function(argument) when a stop is requested, in the middle of that request. What the standard library has of it is
// used in user_stop.cc alone.
class StopWatch {
 public:
  using Function = void (*)(void*) noexcept;
  StopWatch() noexcept = default;
  ~StopWatch();
  StopWatch(const StopWatch&) = delete;
  void begin(std::stop_token token, Function function, std::shared_ptr<void> argument);
  void end() noexcept;  // waits for such a call, unless inside it
  bool has_begun() const noexcept { return callback_.has_value(); }

 private:
  struct Call {
    Function function;
    std::shared_ptr<void> argument;
    void operator()() const noexcept { function(argument.get()); }
  };
  std::optional<std::stop_callback<Call>> callback_;
};

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
