// SPDX-License-Identifier: MIT
// tick_reads: threads wait in blocking reads of slow pipes; another wakes every millisecond.
#include "common/slow_pipes.h"

#include <chrono>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  args.procs();
  const long ms = args.get("ms", 3000), readers = args.get("readers", 8);
  bench::SlowPipes pipes(readers, args.get("period-us", 3000));
  std::atomic<long> reads{0};
  std::vector<std::thread> threads;
  for (long i = 0; i < readers; ++i)
    threads.emplace_back([&, i] {
      char one;
      while (read(pipes.reading_end(i), &one, 1) == 1) ++reads;
    });
  std::vector<double> late_ms;
  auto due = std::chrono::steady_clock::now();
  for (long i = 0; i < ms; ++i) {
    due += std::chrono::milliseconds(1);
    std::this_thread::sleep_until(due);
    late_ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - due).count());
  }
  pipes.end();
  for (auto& thread : threads) thread.join();
  bench::require(reads > 0, "no read came back");
  bench::report("late_p99_ms", bench::percentile(late_ms, .99));
  bench::report("late_max_ms", bench::percentile(late_ms, 1));
}
