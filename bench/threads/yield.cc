// SPDX-License-Identifier: MIT
// yield: `tasks` threads call sched_yield `count` times each.
#include "common/affinity.h"
#include "common/bench.h"

#include <sched.h>

#include <thread>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  bench::use_processors(args.procs());
  const long tasks = args.get("tasks", 1);
  const long count = args.get("count", 100'000);
  std::vector<std::thread> all;
  const double start = bench::now_ns();
  for (long t = 0; t < tasks; ++t)
    all.emplace_back([count] {
      for (long i = 0; i < count; ++i) sched_yield();
    });
  for (auto& thread : all) thread.join();
  bench::report("ns", (bench::now_ns() - start) / static_cast<double>(tasks * count));
}
