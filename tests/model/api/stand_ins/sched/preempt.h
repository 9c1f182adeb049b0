// SPDX-License-Identifier: MIT
#pragma once
#include "sched/dispatch.h"

namespace weft::sched {
inline Processor* own_processor() { return os::current_p(); }
struct NonPreemptible {
  NonPreemptible() {}
  ~NonPreemptible() {}
};
}  // namespace weft::sched
