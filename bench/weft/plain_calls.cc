// SPDX-License-Identifier: MIT
// plain_calls: `tasks` tasks block their thread for `call-us`, again and again, announced or not, for `ms`: calls a
// second, and how late another task's 1 ms tick is.
#include "common/bench.h"

#include <chrono>
#include <vector>

#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sync.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 200), call_us = args.get("call-us", 5'000), ms = args.get("ms", 2'000);
  const bool announced = args.get("announced", 0) != 0;
  weft::run({.maxprocs = args.procs()}, [&] {
    std::atomic<bool> stop{false};
    std::atomic<long> calls{0};
    weft::wait_group group;
    for (long i = 0; i < tasks; ++i) {
      group.go([&] {
        while (!stop) {
          if (announced)
            weft::blocking([&] { bench::sleep_thread_us(call_us); });
          else
            bench::sleep_thread_us(call_us);
          ++calls;
          weft::this_goroutine::yield();
        }
      });
    }
    std::vector<double> late_ms;
    const double start = bench::now_ns(), end = start + static_cast<double>(ms) * 1e6;
    for (double now = start; now < end;) {
      weft::this_goroutine::sleep_for(std::chrono::milliseconds(1));
      const double woken = bench::now_ns();
      late_ms.push_back((woken - now) / 1e6 - 1);
      now = woken;
    }
    const double seconds = (bench::now_ns() - start) / 1e9;
    bench::require(calls > 0, "a call came back");
    bench::report("calls_per_s", static_cast<double>(calls) / seconds);
    bench::report("late_p99_ms", bench::percentile(late_ms, 0.99));
    bench::report("late_max_ms", bench::percentile(late_ms, 1));
    stop = true;
    group.wait();
  });
}
