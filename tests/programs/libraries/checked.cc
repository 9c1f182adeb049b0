// SPDX-License-Identifier: MIT
// A shared library compiled with preemption checks, of a program that has the runtime (see ../shared_library.cc).
#include "programs/libraries/checked.h"

#include <alloca.h>
#include <pthread.h>
#include <cstdarg>
#include <stdexcept>

namespace {

__attribute__((noinline)) int step(int x) {
  asm volatile("");
  return static_cast<int>(static_cast<unsigned>(x) * 3 + 1);
}
__attribute__((noinline)) long sum_of(int count, ...) {
  va_list list;
  va_start(list, count);
  long sum = 0;
  for (int i = 0; i < count; ++i) sum += va_arg(list, int);
  va_end(list);
  return sum;
}
__attribute__((noinline)) int with_alloca(std::size_t bytes, int fill) {
  auto* space = static_cast<volatile char*>(alloca(bytes));
  for (std::size_t i = 0; i < bytes; i += 64) space[i] = static_cast<char>(fill);
  return space[0];
}
__attribute__((noinline)) int throws_at_depth(int depth) {
  if (depth == 0) throw std::out_of_range("bottom");
  return throws_at_depth(depth - 1) + 1;
}

}  // namespace

extern "C" int library_compute_until(const std::atomic<bool>* stop) {
  int x = 1;
  while (!stop->load(std::memory_order_relaxed)) x = step(x);
  return x;
}

extern "C" long library_result(int seed) {
  long result = sum_of(10, seed, 2, 3, 4, 5, 6, 7, 8, 9, 10) + with_alloca(30'000, seed % 100);
  for (int i = 0; i < 20; ++i) {
    try {
      throws_at_depth(i);
    } catch (const std::out_of_range&) {
      result += step(i);
    }
  }
  return result;
}

extern "C" int library_starts_threads() {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr) != 0) return 1;
  return pthread_join(thread, nullptr);
}
