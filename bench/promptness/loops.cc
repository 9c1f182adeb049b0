// SPDX-License-Identifier: MIT
#include "hogs.h"

void hog_without_calls(const std::atomic<bool>& stop) {
  unsigned long x = 1;
  while (!stop.load(std::memory_order_relaxed)) {
    x = x * 6364136223846793005ul + 1442695040888963407ul;
    asm volatile("" : "+r"(x));
  }
}
