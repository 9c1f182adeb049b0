// SPDX-License-Identifier: MIT
// How every oneTBB program starts. oneTBB is fork-join only: tasks cannot wait for each other, so it is a bound for the
// rows that need no waiting, not a full peer.
#pragma once

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "common/bench.h"

namespace tbb_bench {

template <class F>
void run(int procs, F&& body) {
  const auto count = static_cast<std::size_t>(procs);
  oneapi::tbb::global_control limit(oneapi::tbb::global_control::max_allowed_parallelism, count);
  oneapi::tbb::task_arena arena(procs);
  arena.execute(body);
}

}  // namespace tbb_bench
