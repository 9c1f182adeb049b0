// SPDX-License-Identifier: MIT
// mutex: fibers lock and unlock one fiber mutex.
#include "fiber/run.h"

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 8);
  const long count = args.get("count", 1'000'000);
  fiber::run(args.procs(), false, [&] {
    boost::fibers::mutex mutex;
    long sum = 0;
    fiber::WaitGroup all(tasks);
    const double start = bench::now_ns();
    for (long t = 0; t < tasks; ++t)
      fiber::go([&] {
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
