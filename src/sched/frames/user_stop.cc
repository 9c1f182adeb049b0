// SPDX-License-Identifier: MIT
#include "sched/frames/user_call.h"

// Alone here, because TSan looks at this file (cmake/WeftLayers.cmake): what the C++ library promises by its own atomics
// (a request to stop comes before those who see it, the uses of a shared object before its end) is the user's to rely on.
// So who uses here what the user has a share in gives its own share back here, too: else TSan would see the use, but not
// that it comes before the end.
namespace weft::sched {

__attribute__((noinline)) void request_stop_by_user(std::optional<std::stop_source>& stop) {
  stop->request_stop();
  stop.reset();
  asm volatile("");  // no jump instead of the call
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
