// SPDX-License-Identifier: MIT
// spawn: `tasks` empty goroutines in bursts of `burst`, each burst waited for; the first time in the process and again.
#include "common/bench.h"

#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sync.h>

static double spawn_all(long tasks, long burst) {
  const double start = bench::now_ns();
  for (long done = 0; done < tasks; done += burst) {
    weft::wait_group all;
    all.add(static_cast<int>(burst));
    for (long i = 0; i < burst; ++i) weft::go([&all] { all.done(); });
    all.wait();
  }
  return (bench::now_ns() - start) / static_cast<double>(tasks);
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 1'000'000);
  const long burst = args.get("burst", tasks);
  weft::run({.maxprocs = args.procs()}, [&] {
    bench::report("cold_ns", spawn_all(tasks, burst));
    bench::report("warm_ns", spawn_all(tasks, burst));
  });
}
