// SPDX-License-Identifier: MIT
// skynet: a tree of tasks with ten children each; without channels each node sums what its children returned.
#include "tbb/run.h"

static long skynet(long number, long size) {
  if (size == 1) return number;
  long parts[10];
  oneapi::tbb::task_group children;
  for (long i = 0; i < 10; ++i)
    children.run([part = &parts[i], first = number + i * (size / 10), size] { *part = skynet(first, size / 10); });
  children.wait();
  long sum = 0;
  for (long part : parts) sum += part;
  return sum;
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long leaves = args.get("leaves", 1'000'000);
  tbb_bench::run(args.procs(), [&] {
    for (const char* metric : {"cold_s", "warm_s"}) {
      const double start = bench::now_ns();
      const long sum = skynet(0, leaves);
      bench::report(metric, (bench::now_ns() - start) / 1e9);
      bench::require(sum == leaves * (leaves - 1) / 2, "sum of the leaves");
    }
  });
}
