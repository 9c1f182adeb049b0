// SPDX-License-Identifier: MIT
// spawn: empty tasks in bursts, each burst waited for; the first time in the process and again.
#include "tbb/run.h"

static double spawn_all(long tasks, long burst) {
  const double start = bench::now_ns();
  for (long done = 0; done < tasks; done += burst) {
    oneapi::tbb::task_group all;
    for (long i = 0; i < burst; ++i) all.run([] {});
    all.wait();
  }
  return (bench::now_ns() - start) / static_cast<double>(tasks);
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 1'000'000);
  const long burst = args.get("burst", tasks);
  tbb_bench::run(args.procs(), [&] {
    bench::report("cold_ns", spawn_all(tasks, burst));
    bench::report("warm_ns", spawn_all(tasks, burst));
  });
}
