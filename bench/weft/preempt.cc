// SPDX-License-Identifier: MIT
// preempt: as many goroutines as Ps compute without ever calling the runtime; another wakes every millisecond.
// Ticks are due at fixed times: one that is missed while nobody lets the ticker run counts with its full lateness.
#include "common/bench.h"

#include <chrono>
#include <thread>

#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sync.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const int procs = args.procs();
  const long ms = args.get("ms", 3000);
  std::atomic<bool> stop{false};
  std::thread end([&] {  // a plain thread, so that the end does not depend on what is measured
    bench::sleep_thread_us(ms * 1000);
    stop = true;
  });
  weft::run({.maxprocs = procs}, [&] {
    weft::wait_group hogs;
    hogs.add(procs);
    for (int i = 0; i < procs; ++i)
      weft::go([&] {
        std::uint64_t x = 1;
        while (!stop.load(std::memory_order_relaxed)) x = x * 6364136223846793005ull + 1;
        bench::sink = x;
        hogs.done();
      });
    std::vector<double> late_ms;
    auto due = std::chrono::steady_clock::now();
    for (long i = 0; i < ms; ++i) {
      due += std::chrono::milliseconds(1);
      weft::this_goroutine::sleep_until(due);
      late_ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - due).count());
    }
    hogs.wait();
    bench::report("late_p50_ms", bench::percentile(late_ms, .5));
    bench::report("late_p99_ms", bench::percentile(late_ms, .99));
  });
  end.join();
}
