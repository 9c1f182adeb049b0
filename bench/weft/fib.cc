// SPDX-License-Identifier: MIT
// fib: fork-join fib(n), one goroutine for every call with n >= 2, no cut-off.
#include "common/bench.h"

#include <weft/go.h>
#include <weft/runtime.h>

static long fib(int n) {
  if (n < 2) return n;
  weft::task<long> left = weft::spawn([n] { return fib(n - 1); });
  const long right = fib(n - 2);
  return left.join() + right;
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const int n = static_cast<int>(args.get("n", 27));
  weft::run({.maxprocs = args.procs()}, [&] {
    for (const char* metric : {"cold_ns", "warm_ns"}) {
      const double start = bench::now_ns();
      const long value = fib(n);
      bench::report(metric, (bench::now_ns() - start) / static_cast<double>(bench::fib_tasks(n)));
      bench::require(value == bench::fib_value(n), "fib(n)");
    }
  });
}
