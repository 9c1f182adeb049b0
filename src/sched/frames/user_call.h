// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

// Calls from the middle of the runtime into the user's code: functions of timers and contexts, stop callbacks,
// destructors of locals. The runtime makes these calls with nothing in hand, neither a lock nor a P. A walk that has to
// tell whether a goroutine may be stopped where it is (preempt.h, foreign_frames.h) recognises them by the functions
// here. Between these functions and the user's there is no other code of the runtime (cmake/GatherText.cmake).
namespace weft::sched {

void call_user(void (*function)(void*), void* argument);
// Requests the stop and destroys the source. `stop` has a value before, and none afterwards.
void request_stop_by_user(std::optional<std::stop_source>& stop);
void drop_by_user(std::shared_ptr<const void>& value);

// Calls function(argument) when a stop is requested, from inside that request. Only user_stop.cc uses the functions of
// the standard library for this.
class StopWatch {
 public:
  using Function = void (*)(void*) noexcept;
  StopWatch() noexcept = default;
  ~StopWatch();
  StopWatch(const StopWatch&) = delete;
  void begin(std::stop_token token, Function function, std::shared_ptr<void> argument);
  void end() noexcept;  // waits for a call that is under way, unless it is made inside that call
  bool has_begun() const noexcept { return callback_.has_value(); }

 private:
  struct Call {
    Function function;
    std::shared_ptr<void> argument;
    void operator()() const noexcept { function(argument.get()); }
  };
  std::optional<std::stop_callback<Call>> callback_;
};

// Looks at the frames of a stack, from the innermost outwards: has the runtime called the user's code there with
// something in hand?
class RuntimeFrames {
 public:
  // The walk begins in the runtime (at_check()), or in the user's code (interrupted by a signal).
  explicit RuntimeFrames(bool begins_in_runtime) noexcept : holds_nothing_(begins_in_runtime) {}
  // False: it has, and the walk can end. `function`: where the frame's function begins.
  bool next(std::uintptr_t pc, std::uintptr_t function) noexcept;

 private:
  bool holds_nothing_;  // of the frames of the runtime that come next
};

}  // namespace weft::sched
