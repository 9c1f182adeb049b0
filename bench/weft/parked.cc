// SPDX-License-Identifier: MIT
// parked: `tasks` goroutines wait for one event; memory and time to create them, to end them, and what stays resident.
#include "common/bench.h"

#include <chrono>

#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sync.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 1'000'000);
  const long settle_ms = args.get("settle-ms", 10'000);
  weft::run({.maxprocs = args.procs()}, [&] {
    weft::wait_group parked, event, ended;
    parked.add(static_cast<int>(tasks));
    ended.add(static_cast<int>(tasks));
    event.add(1);
    const long before = bench::resident_bytes();
    double start = bench::now_ns();
    for (long t = 0; t < tasks; ++t)
      weft::go([&] {
        parked.done();
        event.wait();
        ended.done();
      });
    parked.wait();
    const double per_task = 1.0 / static_cast<double>(tasks);
    bench::report("create_ns", (bench::now_ns() - start) * per_task);
    bench::report("bytes", static_cast<double>(bench::resident_bytes() - before) * per_task);
    start = bench::now_ns();
    event.done();
    ended.wait();
    bench::report("exit_ns", (bench::now_ns() - start) * per_task);
    weft::this_goroutine::sleep_for(std::chrono::milliseconds(settle_ms));
    bench::report("after_mb", static_cast<double>(bench::resident_bytes()) / 1e6);
  });
}
