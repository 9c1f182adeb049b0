// SPDX-License-Identifier: MIT
// tick: one thread wakes every millisecond; CPU time and lateness.
#include "common/bench.h"

#include <chrono>
#include <thread>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  args.procs();
  const long ticks = args.get("ms", 3000);
  std::vector<double> late_us;
  const double cpu = bench::cpu_ns(), start = bench::now_ns();
  auto due = std::chrono::steady_clock::now();
  for (long i = 0; i < ticks; ++i) {
    due += std::chrono::milliseconds(1);
    std::this_thread::sleep_until(due);
    late_us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - due).count());
  }
  bench::report("cpu_ms_per_s", (bench::cpu_ns() - cpu) / (bench::now_ns() - start) * 1000);
  bench::report("late_p50_us", bench::percentile(late_us, .5));
}
