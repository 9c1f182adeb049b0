// SPDX-License-Identifier: MIT
// wake: after `gap-us` of quiet, A wakes the waiting B and keeps computing for 2 ms: time until B runs.
// sleep = 1: A sleeps through the gap, so that every core is idle; 0: A computes, so that only the others are.
#include "common/bench.h"

#include <chrono>
#include <vector>

#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sync.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long count = args.get("count", 200);
  const long gap_us = args.get("gap-us", 2000);
  const bool sleep = args.get("sleep", 1) != 0;
  weft::run({.maxprocs = args.procs()}, [&] {
    const bench::Work work;
    struct Event {
      weft::wait_group fired;
      double at = 0;
      Event() { fired.add(1); }
    };
    std::vector<Event> events(static_cast<std::size_t>(count));
    std::vector<double> late_us(events.size());
    std::atomic<long> seen{0};
    weft::go([&] {
      for (std::size_t i = 0; i < events.size(); ++i) {
        events[i].fired.wait();
        late_us[i] = (bench::now_ns() - events[i].at) / 1000;
        seen.store(static_cast<long>(i) + 1, std::memory_order_release);
      }
    });
    weft::this_goroutine::yield();
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (sleep)
        weft::this_goroutine::sleep_for(std::chrono::microseconds(gap_us));
      else
        work(static_cast<double>(gap_us));
      events[i].at = bench::now_ns();
      events[i].fired.done();
      work(2000);
      while (seen.load(std::memory_order_acquire) <= static_cast<long>(i)) weft::this_goroutine::yield();
    }
    bench::report("p50_us", bench::percentile(late_us, .5));
    bench::report("p99_us", bench::percentile(late_us, .99));
  });
}
