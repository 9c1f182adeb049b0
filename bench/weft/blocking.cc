// SPDX-License-Identifier: MIT
// blocking: one computing goroutine per P counts chunks of 20 us, first alone, then beside `blockers` goroutines that
// block a thread for 1 ms again and again: share of the computing that is kept, and blocking calls per second.
#include "common/bench.h"

#include <chrono>

#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sync.h>

struct Rates {
  double chunks, calls;
};

static Rates measure(int procs, long blockers, long ms, const bench::Work& work) {
  std::atomic<bool> stop{false};
  std::atomic<long> chunks{0}, calls{0};
  weft::wait_group all;
  all.add(static_cast<int>(procs + blockers));
  const double start = bench::now_ns();
  for (int i = 0; i < procs; ++i)
    weft::go([&] {
      long mine = 0;
      for (; !stop.load(std::memory_order_relaxed); ++mine) {
        work(20);
        weft::this_goroutine::yield();
      }
      chunks += mine;
      all.done();
    });
  for (long i = 0; i < blockers; ++i)
    weft::go([&] {
      long mine = 0;
      for (; !stop.load(std::memory_order_relaxed); ++mine) weft::blocking([] { bench::sleep_thread_us(1000); });
      calls += mine;
      all.done();
    });
  weft::this_goroutine::sleep_for(std::chrono::milliseconds(ms));
  stop = true;
  all.wait();
  const double seconds = (bench::now_ns() - start) / 1e9;
  return {static_cast<double>(chunks) / seconds, static_cast<double>(calls) / seconds};
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const int procs = args.procs();
  const long blockers = args.get("blockers", 8);
  const long ms = args.get("ms", 1500);
  weft::run({.maxprocs = procs}, [&] {
    const bench::Work work;
    Rates alone{}, beside{};
    for (int slice = 0; slice < 3; ++slice) {  // alternating: a drift of the machine hits both
      const Rates first = measure(procs, 0, ms / 3, work), second = measure(procs, blockers, ms / 3, work);
      alone = {alone.chunks + first.chunks, alone.calls + first.calls};
      beside = {beside.chunks + second.chunks, beside.calls + second.calls};
    }
    bench::report("kept_percent", beside.chunks / alone.chunks * 100);
    bench::report("calls_per_s", beside.calls / 3);
  });
}
