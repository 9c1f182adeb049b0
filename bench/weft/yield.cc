// SPDX-License-Identifier: MIT
// yield: `tasks` goroutines yield `count` times each.
#include "common/bench.h"

#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sync.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 1);
  const long count = args.get("count", 1'000'000);
  weft::run({.maxprocs = args.procs()}, [&] {
    weft::wait_group all;
    all.add(static_cast<int>(tasks));
    const double start = bench::now_ns();
    for (long t = 0; t < tasks; ++t)
      weft::go([&all, count] {
        for (long i = 0; i < count; ++i) weft::this_goroutine::yield();
        all.done();
      });
    all.wait();
    bench::report("ns", (bench::now_ns() - start) / static_cast<double>(tasks * count));
  });
}
