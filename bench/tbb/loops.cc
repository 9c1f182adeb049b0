// SPDX-License-Identifier: MIT
// Parallel loops (common/loops.h) by oneTBB's parallel_for and parallel_reduce, with its default partitioner.
#include "common/loops.h"

#include <functional>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_reduce.h>

#include "tbb/run.h"

struct Tbb {
  template <class F>
  static void for_each(std::size_t count, F f) {
    oneapi::tbb::parallel_for(std::size_t{0}, count, f);
  }
  template <class F>
  static double sum(std::size_t count, F f) {
    using Range = oneapi::tbb::blocked_range<std::size_t>;
    return oneapi::tbb::parallel_reduce(
        Range(0, count), 0.0, [&](const Range& r, double sum) { return f(r.begin(), r.end(), sum); }, std::plus<>());
  }
};

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long repeat = args.get("repeat", 20);
  bench::Loops result{};
  tbb_bench::run(args.procs(), [&] { result = bench::measure_loops<Tbb>(repeat); });
  bench::report("even_speedup", result.even_speedup);
  bench::report("uneven_speedup", result.uneven_speedup);
  bench::report("short_ns", result.short_ns);
  bench::report("reduce_speedup", result.reduce_speedup);
}
