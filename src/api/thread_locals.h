// SPDX-License-Identifier: MIT
#pragma once
#include "sched/locals.h"

namespace weft::api {

// goroutine_local objects used on a plain thread live as long as the thread.
sched::Locals& thread_locals() noexcept;

}  // namespace weft::api
