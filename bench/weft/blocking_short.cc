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
    double start = bench::now_ns();
    for (long i = 0; i < count; ++i) syscall(SYS_getpid);
    const double plain = bench::now_ns() - start;
    const long switches = bench::voluntary_switches();
    start = bench::now_ns();
    for (long i = 0; i < count; ++i) weft::blocking([] { syscall(SYS_getpid); });
    bench::report("beyond_ns", (bench::now_ns() - start - plain) / static_cast<double>(count));
    bench::report("switches",
                  static_cast<double>(bench::voluntary_switches() - switches) * 1000 / static_cast<double>(count));
  });
}
