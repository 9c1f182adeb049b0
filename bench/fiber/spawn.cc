// SPDX-License-Identifier: MIT
// spawn: empty fibers in bursts, each burst waited for; the first time in the process and again.
#include "fiber/run.h"

static double spawn_all(long tasks, long burst) {
  const double start = bench::now_ns();
  for (long done = 0; done < tasks; done += burst) {
    fiber::WaitGroup all(burst);
    for (long i = 0; i < burst; ++i) fiber::go([&all] { all.done(); });
    all.wait();
  }
  return (bench::now_ns() - start) / static_cast<double>(tasks);
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 1'000'000);
  const long burst = args.get("burst", tasks);
  fiber::run(args.procs(), false, [&] {
    bench::report("cold_ns", spawn_all(tasks, burst));
    bench::report("warm_ns", spawn_all(tasks, burst));
  });
}
