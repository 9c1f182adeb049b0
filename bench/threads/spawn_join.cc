// SPDX-License-Identifier: MIT
// spawn-join: start one thread, join it, repeat.
#include "common/bench.h"

#include <thread>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  args.procs();
  const long count = args.get("count", 10'000);
  long sum = 0;
  const double start = bench::now_ns();
  for (long i = 0; i < count; ++i) std::thread([&sum] { ++sum; }).join();
  bench::report("ns", (bench::now_ns() - start) / static_cast<double>(count));
  bench::require(sum == count, "every thread ran once");
}
