// SPDX-License-Identifier: MIT
// timers: create `count` timers with a function to call in an hour, stop them all, then create and stop one at a time.
#include "common/bench.h"

#include <chrono>
#include <vector>

#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/time.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long count = args.get("count", 1'000'000);
  weft::run({.maxprocs = args.procs()}, [&] {
    using std::chrono::hours;
    using std::chrono::microseconds;
    std::vector<weft::timer> timers;
    timers.reserve(static_cast<std::size_t>(count));
    double start = bench::now_ns();
    for (long i = 0; i < count; ++i)
      timers.push_back(weft::after_func(hours(1) + microseconds(i * 7919 % count), [] {}));
    bench::report("create_ns", (bench::now_ns() - start) / static_cast<double>(count));
    long stopped = 0;
    start = bench::now_ns();
    for (auto& timer : timers) stopped += timer.stop();
    bench::report("stop_ns", (bench::now_ns() - start) / static_cast<double>(count));
    bench::require(stopped == count, "no timer had fired");
    start = bench::now_ns();
    for (long i = 0; i < count; ++i) weft::after_func(hours(1), [] {}).stop();
    bench::report("churn_ns", (bench::now_ns() - start) / static_cast<double>(count));
  });
}
