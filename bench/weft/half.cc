// SPDX-License-Identifier: MIT
// half: start one task of `work-us`, compute as long oneself, join; speed-up over doing both in a row.
#include "common/bench.h"

#include <weft/go.h>
#include <weft/runtime.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const double us = static_cast<double>(args.get("work-us", 500));
  const long repeat = args.get("repeat", 200);
  weft::run({.maxprocs = args.procs()}, [&] {
    const bench::Work work;
    double serial = 0, parallel = 0;
    for (long r = 0; r < repeat; ++r) {
      const double start = bench::now_ns();
      work(us);
      work(us);
      const double middle = bench::now_ns();
      auto other = weft::spawn([&] { work(us); });
      work(us);
      other.join();
      serial += middle - start;
      parallel += bench::now_ns() - middle;
    }
    bench::report("speedup", serial / parallel);
  });
}
