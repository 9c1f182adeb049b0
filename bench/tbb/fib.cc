// SPDX-License-Identifier: MIT
// fib: fork-join fib(n), one task for every call with n >= 2, no cut-off.
#include "tbb/run.h"

static long fib(int n) {
  if (n < 2) return n;
  long left = 0;
  oneapi::tbb::task_group other;
  other.run([&left, n] { left = fib(n - 1); });
  const long right = fib(n - 2);
  other.wait();
  return left + right;
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const int n = static_cast<int>(args.get("n", 27));
  tbb_bench::run(args.procs(), [&] {
    for (const char* metric : {"cold_ns", "warm_ns"}) {
      const double start = bench::now_ns();
      const long value = fib(n);
      bench::report(metric, (bench::now_ns() - start) / static_cast<double>(bench::fib_tasks(n)));
      bench::require(value == bench::fib_value(n), "fib(n)");
    }
  });
}
