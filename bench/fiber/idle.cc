// SPDX-License-Identifier: MIT
// idle: CPU time of a process whose fibers all wait.
#include "fiber/run.h"

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 10'000);
  const long ms = args.get("ms", 3000);
  fiber::run(args.procs(), true, [&] {
    fiber::WaitGroup parked(tasks), event(1), ended(tasks);
    for (long t = 0; t < tasks; ++t)
      fiber::go([&] {
        parked.done();
        event.wait();
        ended.done();
      });
    parked.wait();
    boost::this_fiber::sleep_for(std::chrono::milliseconds(500));
    const double cpu = bench::cpu_ns(), start = bench::now_ns();
    boost::this_fiber::sleep_for(std::chrono::milliseconds(ms));
    bench::report("cpu_ms_per_s", (bench::cpu_ns() - cpu) / (bench::now_ns() - start) * 1000);
    event.done();
    ended.wait();
  });
}
