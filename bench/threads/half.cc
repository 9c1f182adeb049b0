// SPDX-License-Identifier: MIT
// half: start one thread that computes `work-us`, compute as long oneself, join; speed-up over doing both in a row.
#include "common/affinity.h"
#include "common/bench.h"

#include <thread>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  bench::use_processors(args.procs());
  const double us = static_cast<double>(args.get("work-us", 500));
  const long repeat = args.get("repeat", 200);
  const bench::Work work;
  double serial = 0, parallel = 0;
  for (long r = 0; r < repeat; ++r) {
    const double start = bench::now_ns();
    work(us);
    work(us);
    const double middle = bench::now_ns();
    std::thread other([&] { work(us); });
    work(us);
    other.join();
    serial += middle - start;
    parallel += bench::now_ns() - middle;
  }
  bench::report("speedup", serial / parallel);
}
