// SPDX-License-Identifier: MIT
#include "hogs.h"

namespace {
__attribute__((noinline)) unsigned long step(unsigned long x) {
  asm volatile("");
  return x * 6364136223846793005ul + 1442695040888963407ul;
}
}  // namespace

void hog_with_calls(const std::atomic<bool>& stop) {
  for (unsigned long x = 1; !stop.load(std::memory_order_relaxed);) x = step(x);
}
