// SPDX-License-Identifier: MIT
// tick: one fiber wakes every millisecond; CPU time and lateness.
#include "fiber/run.h"

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long ticks = args.get("ms", 3000);
  fiber::run(args.procs(), true, [&] {
    std::vector<double> late_us;
    const double cpu = bench::cpu_ns(), start = bench::now_ns();
    auto due = std::chrono::steady_clock::now();
    for (long i = 0; i < ticks; ++i) {
      due += std::chrono::milliseconds(1);
      boost::this_fiber::sleep_until(due);
      late_us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - due).count());
    }
    bench::report("cpu_ms_per_s", (bench::cpu_ns() - cpu) / (bench::now_ns() - start) * 1000);
    bench::report("late_p50_us", bench::percentile(late_us, .5));
  });
}
