// SPDX-License-Identifier: MIT
// idle: CPU time of a process whose `tasks` goroutines all wait.
#include "common/bench.h"

#include <chrono>

#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sync.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 10'000);
  const long ms = args.get("ms", 3000);
  weft::run({.maxprocs = args.procs()}, [&] {
    weft::wait_group parked, event, ended;
    parked.add(static_cast<int>(tasks));
    ended.add(static_cast<int>(tasks));
    event.add(1);
    for (long t = 0; t < tasks; ++t)
      weft::go([&] {
        parked.done();
        event.wait();
        ended.done();
      });
    parked.wait();
    weft::this_goroutine::sleep_for(std::chrono::milliseconds(500));
    const double cpu = bench::cpu_ns(), start = bench::now_ns();
    weft::this_goroutine::sleep_for(std::chrono::milliseconds(ms));
    bench::report("cpu_ms_per_s", (bench::cpu_ns() - cpu) / (bench::now_ns() - start) * 1000);
    event.done();
    ended.wait();
  });
}
