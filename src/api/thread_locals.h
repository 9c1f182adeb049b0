// SPDX-License-Identifier: MIT
#pragma once
#include "sched/locals.h"

namespace weft::api {

// goroutine_local objects used on a plain thread live as long as the thread. Null: it has none yet.
sched::Locals* find_thread_locals() noexcept;
// Throws std::bad_alloc.
sched::Locals& thread_locals();

}  // namespace weft::api
