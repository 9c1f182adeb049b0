// SPDX-License-Identifier: MIT
// fan-out: `tasks` goroutines of `work-us` each against the same work done in a row; speed-up. While the serial part
// runs the other cores fall idle, so every fan-out starts by waking them.
#include "common/bench.h"

#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sync.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 1000);
  const double us = static_cast<double>(args.get("work-us", 10));
  const long repeat = args.get("repeat", 20);
  weft::run({.maxprocs = args.procs()}, [&] {
    const bench::Work work;
    double serial = 0, parallel = 0;
    for (long r = -1; r < repeat; ++r) {  // the first round only warms up
      const double start = bench::now_ns();
      for (long t = 0; t < tasks; ++t) work(us);
      const double middle = bench::now_ns();
      weft::wait_group all;
      all.add(static_cast<int>(tasks));
      for (long t = 0; t < tasks; ++t)
        weft::go([&] {
          work(us);
          all.done();
        });
      all.wait();
      if (r < 0) continue;
      serial += middle - start;
      parallel += bench::now_ns() - middle;
    }
    bench::report("speedup", serial / parallel);
  });
}
