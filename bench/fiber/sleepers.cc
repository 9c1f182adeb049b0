// SPDX-License-Identifier: MIT
// sleepers: fibers sleep for random 1 to 50 ms; wall and CPU time, lateness.
#include "fiber/run.h"

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 1000);
  const long count = args.get("count", 10);
  fiber::run(args.procs(), true, [&] {
    std::vector<double> late_us(static_cast<std::size_t>(tasks * count));
    fiber::WaitGroup all(tasks);
    const double cpu = bench::cpu_ns(), start = bench::now_ns();
    for (long t = 0; t < tasks; ++t)
      fiber::go([&, t] {
        bench::Random random(static_cast<std::uint64_t>(t) + 1);
        for (long i = 0; i < count; ++i) {
          const auto us = 1000 + static_cast<long>(random.next() % 49'000);
          const double due = bench::now_ns() + static_cast<double>(us) * 1000;
          boost::this_fiber::sleep_for(std::chrono::microseconds(us));
          late_us[static_cast<std::size_t>(t * count + i)] = (bench::now_ns() - due) / 1000;
        }
        all.done();
      });
    all.wait();
    bench::report("wall_s", (bench::now_ns() - start) / 1e9);
    bench::report("cpu_s", (bench::cpu_ns() - cpu) / 1e9);
    bench::report("late_p50_us", bench::percentile(late_us, .5));
    bench::report("late_p99_us", bench::percentile(late_us, .99));
  });
}
