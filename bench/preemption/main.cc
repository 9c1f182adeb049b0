// SPDX-License-Identifier: MIT
// main: names the kernels. main NAME COUNT: runs one so often and prints the fastest run's nanoseconds and the checksum.
// Compiled without checks, like the stubs that a check would call: here no check may fire.
#include <time.h>

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernel.h"

namespace {
std::vector<Kernel>& kernels() {
  static std::vector<Kernel> list;
  return list;
}

// The thread's own: what other processes take does not count.
std::int64_t cpu_ns() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * std::int64_t{1000000000} + now.tv_nsec;
}

int fail(const char* message) {
  std::fprintf(stderr, "%s\n", message);
  return 2;
}
}  // namespace

KernelList::KernelList(const char* name, std::uint64_t (*run)()) { kernels().push_back({name, run}); }
std::uint64_t mix(std::uint64_t hash, double value) { return mix(hash, std::bit_cast<std::uint64_t>(value)); }

// What the checks call. A guard of 0, as in any thread that is not weft's, never lets them.
extern "C" void __morestack() { std::abort(); }
extern "C" void* __morestack_allocate_stack_space(std::size_t) { std::abort(); }
extern "C" void weft_preempt_check() { std::abort(); }

#ifdef GUARD_IN_G
// Before anybody's static objects, whose constructors have checks as well.
__attribute__((constructor(101))) static void give_the_thread_a_guard() {
  static const std::uintptr_t guard = 0;
  asm volatile("movq %0, %%fs:112" : : "r"(&guard) : "memory");
}
#endif

int main(int count, char** words) {
  std::vector<Kernel>& list = kernels();
  std::sort(list.begin(), list.end(), [](const Kernel& a, const Kernel& b) { return std::strcmp(a.name, b.name) < 0; });
  if (count == 1) {
    for (const Kernel& kernel : list) std::puts(kernel.name);
    return 0;
  }
  const int times = count == 3 ? std::atoi(words[2]) : 0;
  if (times < 1) return fail("usage: main [NAME COUNT]");
  for (const Kernel& kernel : list) {
    if (std::strcmp(kernel.name, words[1]) != 0) continue;
    std::int64_t fastest = INT64_MAX;
    std::uint64_t sum = 0;
    for (int i = 0; i < times; ++i) {
      const std::int64_t start = cpu_ns();
      const std::uint64_t result = kernel.run();
      const std::int64_t end = cpu_ns();
      fastest = std::min(fastest, end - start);
      if (i > 0 && result != sum) return fail("two runs give two results");
      sum = result;
    }
    std::printf("%" PRId64 " %016" PRIx64 "\n", fastest, sum);
    return 0;
  }
  return fail("no such kernel");
}
