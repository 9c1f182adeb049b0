// SPDX-License-Identifier: MIT
// mutex: `tasks` goroutines lock and unlock one mutex `count` times each.
#include "common/bench.h"

#include <mutex>

#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sync.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 8);
  const long count = args.get("count", 1'000'000);
  weft::run({.maxprocs = args.procs()}, [&] {
    weft::mutex mutex;
    long sum = 0;
    weft::wait_group all;
    all.add(static_cast<int>(tasks));
    const double start = bench::now_ns();
    for (long t = 0; t < tasks; ++t)
      weft::go([&, count] {
        for (long i = 0; i < count; ++i) {
          std::lock_guard lock(mutex);
          ++sum;
        }
        all.done();
      });
    all.wait();
    bench::report("ns", (bench::now_ns() - start) / static_cast<double>(tasks * count));
    bench::require(sum == tasks * count, "no increment was lost");
  });
}
