// SPDX-License-Identifier: MIT
// wake: two threads pinned to two CPUs, woken by a futex: what the kernel and the other core need.
#include "common/affinity.h"

#include <semaphore>
#include <thread>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  args.procs();
  const long count = args.get("count", 200);
  const long gap_us = args.get("gap-us", 2000);
  const bool sleep = args.get("sleep", 1) != 0;
  const bench::Work work;
  const std::vector<int> cpus = bench::allowed_cpus();
  if (cpus.size() < 2) bench::fail("two CPUs are needed");
  std::binary_semaphore fired{0};
  double at = 0;
  std::vector<double> late_us(static_cast<std::size_t>(count));
  std::atomic<long> seen{0};
  std::thread other([&] {
    bench::pin_to(cpus, 1);
    for (auto& late : late_us) {
      fired.acquire();
      late = (bench::now_ns() - at) / 1000;
      ++seen;
    }
  });
  bench::pin_to(cpus, 0);
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
