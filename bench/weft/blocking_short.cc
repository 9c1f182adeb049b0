// SPDX-License-Identifier: MIT
// blocking-short: `count` system calls that return at once, each announced to the runtime as one that may block.
#include "common/bench.h"

#include <sys/syscall.h>

#include <weft/go.h>
#include <weft/runtime.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long count = args.get("count", 100'000);
  weft::run({.maxprocs = args.procs()}, [&] {
    // Ten batches of each kind in turn, the fastest of each counts: a difference of two times is easily drowned in noise.
    const long batch = count / 10;
    double plain = 1e18, announced = 1e18;
    long sleeps = 0;
    for (int b = 0; b < 10; ++b) {
      double start = bench::now_ns();
      for (long i = 0; i < batch; ++i) syscall(SYS_getpid);
      plain = std::min(plain, bench::now_ns() - start);
      const long before = bench::voluntary_switches();
      start = bench::now_ns();
      for (long i = 0; i < batch; ++i) weft::blocking([] { syscall(SYS_getpid); });
      announced = std::min(announced, bench::now_ns() - start);
      sleeps += bench::voluntary_switches() - before;
    }
    bench::report("beyond_ns", (announced - plain) / static_cast<double>(batch));
    bench::report("switches", static_cast<double>(sleeps) * 1000 / static_cast<double>(count));
  });
}
