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
  bench::Loops result{};
  weft::run({.maxprocs = args.procs()}, [&] { result = bench::measure_loops<Weft>(repeat); });
  bench::report("even_speedup", result.even_speedup);
  bench::report("uneven_speedup", result.uneven_speedup);
  bench::report("short_ns", result.short_ns);
  bench::report("reduce_speedup", result.reduce_speedup);
}
