// SPDX-License-Identifier: MIT
// parked: one private page of 4 KiB per task, touched once: what any task with a stack of its own must have.
#include "common/bench.h"

#include <sys/mman.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  args.procs();
  const long tasks = args.get("tasks", 1'000'000);
  const long settle_ms = args.get("settle-ms", 10'000);
  const auto size = static_cast<std::size_t>(tasks) * 4096;
  const long before = bench::resident_bytes();
  double start = bench::now_ns();
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) bench::fail("no memory");
  madvise(memory, size, MADV_NOHUGEPAGE);
  for (std::size_t at = 0; at < size; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
  const double per_task = 1.0 / static_cast<double>(tasks);
  bench::report("create_ns", (bench::now_ns() - start) * per_task);
  bench::report("bytes", static_cast<double>(bench::resident_bytes() - before) * per_task);
  start = bench::now_ns();
  munmap(memory, size);
  bench::report("exit_ns", (bench::now_ns() - start) * per_task);
  bench::sleep_thread_us(settle_ms * 1000);
  bench::report("after_mb", static_cast<double>(bench::resident_bytes()) / 1e6);
}
