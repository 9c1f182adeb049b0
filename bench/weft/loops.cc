// SPDX-License-Identifier: MIT
// Parallel loops (common/loops.h) by weft::parallel_for and parallel_reduce.
#include "common/loops.h"

#include <functional>

#include <weft/go.h>
#include <weft/parallel.h>
#include <weft/runtime.h>

struct Weft {
  template <class F>
  static void for_each(std::size_t count, F f) {
    weft::parallel_for(0, count, f);
  }
  template <class F>
  static double sum(std::size_t count, F f) {
    return weft::parallel_reduce(0, count, 0.0, f, std::plus<>());
  }
};

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long repeat = args.get("repeat", 20);
  weft::run({.maxprocs = args.procs()}, [&] { bench::measure_loops<Weft>(repeat); });
}
