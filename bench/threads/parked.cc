// SPDX-License-Identifier: MIT
// parked: `tasks` threads wait for one event. Resident bytes are those of the process: what the kernel keeps for a
// thread (its kernel stack, about 16 KiB) comes on top.
#include "common/bench.h"

#include <latch>
#include <thread>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  args.procs();
  const long tasks = args.get("tasks", 5000);
  const long settle_ms = args.get("settle-ms", 10'000);
  std::latch parked(tasks), event(1);
  std::vector<std::thread> all;
  all.reserve(static_cast<std::size_t>(tasks));
  const long before = bench::resident_bytes();
  double start = bench::now_ns();
  for (long t = 0; t < tasks; ++t)
    all.emplace_back([&] {
      parked.count_down();
      event.wait();
    });
  parked.wait();
  const double per_task = 1.0 / static_cast<double>(tasks);
  bench::report("create_ns", (bench::now_ns() - start) * per_task);
  bench::report("bytes", static_cast<double>(bench::resident_bytes() - before) * per_task);
  start = bench::now_ns();
  event.count_down();
  for (auto& thread : all) thread.join();
  bench::report("exit_ns", (bench::now_ns() - start) * per_task);
  bench::sleep_thread_us(settle_ms * 1000);
  bench::report("after_mb", static_cast<double>(bench::resident_bytes()) / 1e6);
}
