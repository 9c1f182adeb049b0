// SPDX-License-Identifier: MIT
#include "sched/frames/user_call.h"

// These functions have a file of their own, because it is compiled for TSan where the rest of the runtime is not
// (cmake/WeftLayers.cmake). Users may rely on the order that the C++ library makes with its own atomics: a request to
// stop happens before what the threads that see it do then, and all uses of a shared object happen before its end.
// A function here that uses an object in which the user has a share also gives the runtime's share back here. Otherwise
// TSan would see the use, but not that it happens before the object's end.
namespace weft::sched {

__attribute__((noinline)) void request_stop_by_user(std::optional<std::stop_source>& stop) {
  stop->request_stop();
  stop.reset();
  asm volatile("");  // keeps the call from becoming a jump
}

__attribute__((noinline)) void drop_by_user(std::shared_ptr<const void>& value) {
  value.reset();
  asm volatile("");
}

StopWatch::~StopWatch() = default;

void StopWatch::begin(std::stop_token token, Function function, std::shared_ptr<void> argument) {
  callback_.emplace(std::move(token), Call{function, std::move(argument)});
}
void StopWatch::end() noexcept { callback_.reset(); }

}  // namespace weft::sched
