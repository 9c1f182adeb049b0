// SPDX-License-Identifier: MIT
// parked: fibers wait for one event; memory and time to create and to end them.
#include "fiber/run.h"

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 100'000);
  const long settle_ms = args.get("settle-ms", 10'000);
  fiber::run(args.procs(), true, [&] {
    fiber::WaitGroup parked(tasks), event(1), ended(tasks);
    const long before = bench::resident_bytes();
    double start = bench::now_ns();
    for (long t = 0; t < tasks; ++t)
      fiber::go([&] {
        parked.done();
        event.wait();
        ended.done();
      });
    parked.wait();
    const double per_task = 1.0 / static_cast<double>(tasks);
    bench::report("create_ns", (bench::now_ns() - start) * per_task);
    bench::report("bytes", static_cast<double>(bench::resident_bytes() - before) * per_task);
    start = bench::now_ns();
    event.done();
    ended.wait();
    bench::report("exit_ns", (bench::now_ns() - start) * per_task);
    boost::this_fiber::sleep_for(std::chrono::milliseconds(settle_ms));
    bench::report("after_mb", static_cast<double>(bench::resident_bytes()) / 1e6);
  });
}
