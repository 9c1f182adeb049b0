// SPDX-License-Identifier: MIT
// smokers: an arbiter tells one of `tasks` smokers at random to smoke, who says so and computes for a while; `count`
// rounds (Savina's cigsmok).
#include "common/bench.h"

#include <vector>

#include <weft/chan.h>
#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sync.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 200), count = args.get("count", 20'000), most_steps = args.get("steps", 1000);
  weft::run({.maxprocs = args.procs()}, [&] {
    std::vector<weft::chan<long>> smokers;
    for (long i = 0; i < tasks; ++i) smokers.emplace_back(16);
    weft::chan<bool> started(1);
    weft::wait_group group;
    std::atomic<long> smoked{0};
    for (auto& smoker : smokers) {
      group.go([&] {
        long own = 0;
        while (const auto steps = smoker.recv()) {
          started.send(true);
          bench::sink.store(bench::spin(static_cast<std::uint64_t>(*steps)), std::memory_order_relaxed);
          ++own;
        }
        smoked += own;
      });
    }
    bench::Random random(1);
    const bench::Meter meter;
    for (long i = 0; i < count; ++i) {
      auto& smoker = smokers[random.next() % smokers.size()];
      smoker.send(static_cast<long>(random.next() % static_cast<std::uint64_t>(most_steps)));
      started.recv();
    }
    for (auto& smoker : smokers) smoker.close();
    group.wait();
    meter.report_per(count);
    bench::require(smoked == count, "everyone who was told to smoke did");
  });
}
