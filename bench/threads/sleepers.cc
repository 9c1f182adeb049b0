// SPDX-License-Identifier: MIT
// sleepers: `tasks` threads sleep `count` times for a random 1 to 50 ms; wall and CPU time, lateness.
#include "common/affinity.h"
#include "common/bench.h"

#include <thread>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  bench::use_processors(args.procs());
  const long tasks = args.get("tasks", 1000);
  const long count = args.get("count", 10);
  std::vector<double> late_us(static_cast<std::size_t>(tasks * count));
  std::vector<std::thread> all;
  const double cpu = bench::cpu_ns(), start = bench::now_ns();
  for (long t = 0; t < tasks; ++t)
    all.emplace_back([&, t] {
      bench::Random random(static_cast<std::uint64_t>(t) + 1);
      for (long i = 0; i < count; ++i) {
        const auto us = 1000 + static_cast<long>(random.next() % 49'000);
        const double due = bench::now_ns() + static_cast<double>(us) * 1000;
        bench::sleep_thread_us(us);
        late_us[static_cast<std::size_t>(t * count + i)] = (bench::now_ns() - due) / 1000;
      }
    });
  for (auto& thread : all) thread.join();
  bench::report("wall_s", (bench::now_ns() - start) / 1e9);
  bench::report("cpu_s", (bench::cpu_ns() - cpu) / 1e9);
  bench::report("late_p50_us", bench::percentile(late_us, .5));
  bench::report("late_p99_us", bench::percentile(late_us, .99));
}
