// SPDX-License-Identifier: MIT
#pragma once
#include "sched/wait/waiter.h"

namespace weft::detail {

// A waiter in a task's word (task_core.cc). `queued` says whether it has got there.
struct Joiner : sched::Waiter {
  // The goroutine's last access to a joiner that was woken by others, or by its time limit.
  base::Atom<bool> released{false};
};

}  // namespace weft::detail
