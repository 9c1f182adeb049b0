// SPDX-License-Identifier: MIT
// wake: after `gap-us` of quiet, thread A wakes the waiting B and keeps computing for 2 ms: time until B runs.
#include "common/affinity.h"
#include "common/bench.h"

#include <semaphore>
#include <thread>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  bench::use_processors(args.procs());
  const long count = args.get("count", 200);
  const long gap_us = args.get("gap-us", 2000);
  const bool sleep = args.get("sleep", 1) != 0;
  const bench::Work work;
  std::binary_semaphore fired{0};
  double at = 0;
  std::vector<double> late_us(static_cast<std::size_t>(count));
  std::atomic<long> seen{0};
  std::thread other([&] {
    for (auto& late : late_us) {
      fired.acquire();
      late = (bench::now_ns() - at) / 1000;
      ++seen;
    }
  });
  for (long i = 0; i < count; ++i) {
    if (sleep)
      bench::sleep_thread_us(gap_us);
    else
      work(static_cast<double>(gap_us));
    at = bench::now_ns();
    fired.release();
    work(2000);
    while (seen.load() <= i) std::this_thread::yield();
  }
  other.join();
  bench::report("p50_us", bench::percentile(late_us, .5));
  bench::report("p99_us", bench::percentile(late_us, .99));
}
