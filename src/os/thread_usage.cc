// SPDX-License-Identifier: MIT
#include "os/thread_usage.h"

#include <sys/resource.h>

namespace weft::os {

ThreadUsage thread_usage() noexcept {
  rusage usage;
  if (getrusage(RUSAGE_THREAD, &usage) != 0) return {};
  const auto ns = [](const timeval& time) {
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::int64_t>(time.tv_usec) * 1'000;
  };
  return {ns(usage.ru_utime) + ns(usage.ru_stime), usage.ru_nvcsw};
}

}  // namespace weft::os
