// SPDX-License-Identifier: MIT
// half: start one task that computes, compute as long oneself, join; speed-up over doing both in a row.
#include "tbb/run.h"

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const double us = static_cast<double>(args.get("work-us", 500));
  const long repeat = args.get("repeat", 200);
  tbb_bench::run(args.procs(), [&] {
    const bench::Work work;
    double serial = 0, parallel = 0;
    for (long r = 0; r < repeat; ++r) {
      const double start = bench::now_ns();
      work(us);
      work(us);
      const double middle = bench::now_ns();
      oneapi::tbb::task_group other;
      other.run([&] { work(us); });
      work(us);
      other.wait();
      serial += middle - start;
      parallel += bench::now_ns() - middle;
    }
    bench::report("speedup", serial / parallel);
  });
}
