// SPDX-License-Identifier: MIT
// tick: one goroutine wakes every millisecond; CPU time and lateness.
#include "common/bench.h"

#include <chrono>

#include <weft/go.h>
#include <weft/runtime.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long ticks = args.get("ms", 3000);
  weft::run({.maxprocs = args.procs()}, [&] {
    std::vector<double> late_us;
    late_us.reserve(static_cast<std::size_t>(ticks));
    const double cpu = bench::cpu_ns(), start = bench::now_ns();
    auto due = std::chrono::steady_clock::now();
    for (long i = 0; i < ticks; ++i) {
      due += std::chrono::milliseconds(1);
      weft::this_goroutine::sleep_until(due);
      late_us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - due).count());
    }
    bench::report("cpu_ms_per_s", (bench::cpu_ns() - cpu) / (bench::now_ns() - start) * 1000);
    bench::report("late_p50_us", bench::percentile(late_us, .5));
  });
}
