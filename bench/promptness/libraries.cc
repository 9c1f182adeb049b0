// SPDX-License-Identifier: MIT
// Compiled as if long ago, by somebody who knows nothing of goroutines.
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hogs.h"

namespace {
std::uint32_t next(std::uint32_t& state) { return state = state * 1664525u + 1013904223u; }
}  // namespace

void hog_in_zlib(const std::atomic<bool>& stop) {
  std::vector<Bytef> text(4'000'000);
  std::uint32_t state = 1;
  for (Bytef& byte : text) byte = static_cast<Bytef>('a' + (next(state) >> 24) % 20);
  std::vector<Bytef> out(compressBound(text.size()));
  while (!stop.load(std::memory_order_relaxed)) {
    uLongf size = out.size();
    if (compress2(out.data(), &size, text.data(), text.size(), 9) != Z_OK) return;
  }
}

void hog_in_sort(const std::atomic<bool>& stop) {
  std::vector<std::uint32_t> numbers(4'000'000);
  std::uint32_t state = 1;
  while (!stop.load(std::memory_order_relaxed)) {
    for (std::uint32_t& number : numbers) number = next(state);
    std::sort(numbers.begin(), numbers.end());
  }
}
