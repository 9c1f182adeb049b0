// SPDX-License-Identifier: MIT
#pragma once
#include "base/atomic.h"

// Stands in for src/os/clock.h: whenever somebody looks, two milliseconds may have passed.
namespace weft::os {

inline std::int64_t model_now_ns = 1;  // put back before each execution

inline std::int64_t now_ns() {
  if (rl::rand(2) == 1) model_now_ns += 2'000'000;
  return model_now_ns;
}

}  // namespace weft::os
