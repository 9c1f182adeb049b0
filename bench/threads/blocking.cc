// SPDX-License-Identifier: MIT
// blocking: computing threads count chunks of 20 us, first alone, then beside `blockers` threads that block for 1 ms
// again and again.
#include "common/affinity.h"
#include "common/bench.h"

#include <thread>

struct Rates {
  double chunks, calls;
};

static Rates measure(int procs, long blockers, long ms, const bench::Work& work) {
  std::atomic<bool> stop{false};
  std::atomic<long> chunks{0}, calls{0};
  std::vector<std::thread> all;
  const double start = bench::now_ns();
  for (int i = 0; i < procs; ++i)
    all.emplace_back([&] {
      long mine = 0;
      for (; !stop.load(std::memory_order_relaxed); ++mine) work(20);
      chunks += mine;
    });
  for (long i = 0; i < blockers; ++i)
    all.emplace_back([&] {
      long mine = 0;
      for (; !stop.load(std::memory_order_relaxed); ++mine) bench::sleep_thread_us(1000);
      calls += mine;
    });
  bench::sleep_thread_us(ms * 1000);
  stop = true;
  for (auto& thread : all) thread.join();
  const double seconds = (bench::now_ns() - start) / 1e9;
  return {static_cast<double>(chunks) / seconds, static_cast<double>(calls) / seconds};
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const int procs = args.procs();
  const long blockers = args.get("blockers", 8);
  const long ms = args.get("ms", 1500);
  bench::use_processors(procs);
  const bench::Work work;
  Rates alone{}, beside{};
  for (int slice = 0; slice < 3; ++slice) {  // alternating: a drift of the machine hits both
    const Rates first = measure(procs, 0, ms / 3, work), second = measure(procs, blockers, ms / 3, work);
    alone = {alone.chunks + first.chunks, alone.calls + first.calls};
    beside = {beside.chunks + second.chunks, beside.calls + second.calls};
  }
  bench::report("kept_percent", beside.chunks / alone.chunks * 100);
  bench::report("calls_per_s", beside.calls / 3);
}
