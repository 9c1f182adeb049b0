// SPDX-License-Identifier: MIT
// spawn-join: start one goroutine, wait for it, repeat.
#include "common/bench.h"

#include <weft/go.h>
#include <weft/runtime.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long count = args.get("count", 1'000'000);
  weft::run({.maxprocs = args.procs()}, [&] {
    long sum = 0;
    const double start = bench::now_ns();
    for (long i = 0; i < count; ++i) weft::spawn([&sum] { ++sum; }).join();
    bench::report("ns", (bench::now_ns() - start) / static_cast<double>(count));
    bench::require(sum == count, "every goroutine ran once");
  });
}
