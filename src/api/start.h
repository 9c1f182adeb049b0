// SPDX-License-Identifier: MIT
#pragma once
#include "sched/state/scheduler.h"

namespace weft::api {

// Defined by the composition root (runtime/runtime.cc). Reads the environment, picks policy and services, and starts
// all of them once.
void start_runtime();

inline void ensure_started() {
  if (WEFT_UNLIKELY(!sched::scheduler.started.load_acquire())) start_runtime();  // pairs: started
}

}  // namespace weft::api
