// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/locals.h"

namespace weft::api {

// The goroutine_local objects of a plain thread, which live as long as the thread. Null: it has none yet.
sched::Locals* find_thread_locals() noexcept;
// Makes them if there are none. Throws std::bad_alloc.
sched::Locals& thread_locals();

}  // namespace weft::api
