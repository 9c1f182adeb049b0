// SPDX-License-Identifier: MIT
// yield: fibers call this_fiber::yield.
#include "fiber/run.h"

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 1);
  const long count = args.get("count", 1'000'000);
  fiber::run(args.procs(), false, [&] {
    fiber::WaitGroup all(tasks);
    const double start = bench::now_ns();
    for (long t = 0; t < tasks; ++t)
      fiber::go([&all, count] {
        for (long i = 0; i < count; ++i) boost::this_fiber::yield();
        all.done();
      });
    all.wait();
    bench::report("ns", (bench::now_ns() - start) / static_cast<double>(tasks * count));
  });
}
