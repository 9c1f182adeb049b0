// SPDX-License-Identifier: MIT
// tick_reads: goroutines wait in blocking reads of slow pipes; another wakes every millisecond.
#include "common/slow_pipes.h"

#include <chrono>

#include <weft/io.h>
#include <weft/weft.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long ms = args.get("ms", 3000), readers = args.get("readers", 8);
  bench::SlowPipes pipes(readers, args.get("period-us", 3000));
  weft::run({.maxprocs = args.procs()}, [&] {
    std::atomic<long> reads{0};
    weft::wait_group group;
    for (long i = 0; i < readers; ++i)
      group.go([&, i] {
        weft::io::file in(pipes.reading_end(i));
        std::byte one;
        while (in.read(std::span(&one, 1)) == 1) ++reads;
      });
    std::vector<double> late_ms;
    auto due = std::chrono::steady_clock::now();
    for (long i = 0; i < ms; ++i) {
      due += std::chrono::milliseconds(1);
      weft::this_goroutine::sleep_until(due);
      late_ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - due).count());
    }
    weft::blocking([&] { pipes.end(); });
    group.wait();
    bench::require(reads > 0, "no read came back");
    bench::report("late_p99_ms", bench::percentile(late_ms, .99));
    bench::report("late_max_ms", bench::percentile(late_ms, 1));
  });
}
