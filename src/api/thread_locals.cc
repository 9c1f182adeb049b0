// SPDX-License-Identifier: MIT
#include "api/thread_locals.h"

namespace weft::api {

__attribute__((noinline)) sched::Locals& thread_locals() noexcept {
  static thread_local sched::Locals locals;
  return locals;
}

}  // namespace weft::api
