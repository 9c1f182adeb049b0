// SPDX-License-Identifier: MIT
// spawn-join: start one task, wait for it, repeat.
#include "tbb/run.h"

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long count = args.get("count", 1'000'000);
  tbb_bench::run(args.procs(), [&] {
    long sum = 0;
    oneapi::tbb::task_group one;
    const double start = bench::now_ns();
    for (long i = 0; i < count; ++i) {
      one.run([&sum] { ++sum; });
      one.wait();
    }
    bench::report("ns", (bench::now_ns() - start) / static_cast<double>(count));
    bench::require(sum == count, "every task ran once");
  });
}
