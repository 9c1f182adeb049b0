// SPDX-License-Identifier: MIT
// preempt: as many threads as CPUs compute without a pause; another wakes every millisecond.
// Ticks are due at fixed times: one that is missed while nobody lets the ticker run counts with its full lateness.
#include "common/affinity.h"

#include <chrono>
#include <thread>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const int procs = args.procs();
  const long ms = args.get("ms", 3000);
  bench::use_processors(procs);
  std::atomic<bool> stop{false};
  std::vector<std::thread> hogs;
  for (int i = 0; i < procs; ++i)
    hogs.emplace_back([&] {
      std::uint64_t x = 1;
      while (!stop.load(std::memory_order_relaxed)) x = x * 6364136223846793005ull + 1;
      bench::sink = x;
    });
  std::vector<double> late_ms;
  auto due = std::chrono::steady_clock::now();
  for (long i = 0; i < ms; ++i) {
    due += std::chrono::milliseconds(1);
    std::this_thread::sleep_until(due);
    late_ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - due).count());
  }
  stop = true;
  for (auto& hog : hogs) hog.join();
  bench::report("late_p50_ms", bench::percentile(late_ms, .5));
  bench::report("late_p99_ms", bench::percentile(late_ms, .99));
}
