// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace weft::os {

// What the calling thread has used since it began. One system call, some 200 ns.
struct ThreadUsage {
  std::int64_t cpu_ns = 0;
  std::int64_t times_slept = 0;  // gave the CPU up by itself
};
ThreadUsage thread_usage() noexcept;

}  // namespace weft::os
