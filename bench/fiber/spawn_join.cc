// SPDX-License-Identifier: MIT
// spawn-join: start one fiber, join it, repeat.
#include "fiber/run.h"

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long count = args.get("count", 1'000'000);
  fiber::run(args.procs(), false, [&] {
    long sum = 0;
    const double start = bench::now_ns();
    for (long i = 0; i < count; ++i) boost::fibers::fiber([&sum] { ++sum; }).join();
    bench::report("ns", (bench::now_ns() - start) / static_cast<double>(count));
    bench::require(sum == count, "every fiber ran once");
  });
}
