// SPDX-License-Identifier: MIT
// busy: one goroutine computes, nothing else is there to do: CPU time beyond that one core.
#include "common/bench.h"

#include <weft/go.h>
#include <weft/runtime.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long ms = args.get("ms", 1000);
  weft::run({.maxprocs = args.procs()}, [&] {
    const bench::Work work;
    weft::spawn([] {}).join();  // the runtime has done something before, as in a real program
    // What the computing thread itself used is taken off by its own clock: the wall clock would also count the time
    // that other processes took from it.
    const double all = bench::cpu_ns(), mine = bench::thread_cpu_ns(), start = bench::now_ns();
    work(static_cast<double>(ms) * 1000);
    const double beyond = bench::cpu_ns() - all - (bench::thread_cpu_ns() - mine);
    bench::report("beyond_percent", beyond / (bench::now_ns() - start) * 100);
  });
}
