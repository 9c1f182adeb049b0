// SPDX-License-Identifier: MIT
// busy: one fiber computes, nothing else is there to do: CPU time beyond that one core.
#include "fiber/run.h"

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long ms = args.get("ms", 1000);
  fiber::run(args.procs(), true, [&] {
    const bench::Work work;
    boost::fibers::fiber([] {}).join();
    const double all = bench::cpu_ns(), mine = bench::thread_cpu_ns(), start = bench::now_ns();
    work(static_cast<double>(ms) * 1000);
    const double beyond = bench::cpu_ns() - all - (bench::thread_cpu_ns() - mine);
    bench::report("beyond_percent", beyond / (bench::now_ns() - start) * 100);
  });
}
