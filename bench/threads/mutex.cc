// SPDX-License-Identifier: MIT
// mutex: `tasks` threads lock and unlock one std::mutex `count` times each.
#include "common/affinity.h"
#include "common/bench.h"

#include <mutex>
#include <thread>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  bench::use_processors(args.procs());
  const long tasks = args.get("tasks", 8);
  const long count = args.get("count", 1'000'000);
  std::mutex mutex;
  long sum = 0;
  std::vector<std::thread> all;
  const double start = bench::now_ns();
  for (long t = 0; t < tasks; ++t)
    all.emplace_back([&] {
      for (long i = 0; i < count; ++i) {
        std::lock_guard lock(mutex);
        ++sum;
      }
    });
  for (auto& thread : all) thread.join();
  bench::report("ns", (bench::now_ns() - start) / static_cast<double>(tasks * count));
  bench::require(sum == tasks * count, "no increment was lost");
}
