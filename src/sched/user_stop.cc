// SPDX-License-Identifier: MIT
#include "sched/user_call.h"

// Alone here, because TSan looks at this file (cmake/WeftLayers.cmake): what the C++ library promises by its own atomics
// (a request to stop comes before those who see it, the uses of a shared object before its end) is the user's to rely on.
namespace weft::sched {

__attribute__((noinline)) void request_stop_by_user(std::stop_source& stop) {
  stop.request_stop();
  asm volatile("");  // no jump instead of the call
}

__attribute__((noinline)) void drop_by_user(std::shared_ptr<const void>& value) {
  value.reset();
  asm volatile("");
}

}  // namespace weft::sched
