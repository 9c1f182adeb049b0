// SPDX-License-Identifier: MIT
// What the locks cost.
#include "micro/run.h"

#include <mutex>

#include <weft/sync.h>

static void mutex_alone(benchmark::State& state) {
  measure(state, [&] {
    weft::mutex mutex;
    for (auto _ : state) {
      std::lock_guard lock(mutex);
      benchmark::ClobberMemory();
    }
  });
}
BENCHMARK(mutex_alone)->Apply(on_one_and_two_ps);

// Seven others want it too.
static void mutex_contended(benchmark::State& state) {
  measure(state, [&] {
    weft::mutex mutex;
    std::atomic<bool> stop{false};
    weft::wait_group all;
    for (int i = 0; i < 7; ++i)
      all.go([&] {
        while (!stop.load(std::memory_order_relaxed)) {
          {
            std::lock_guard lock(mutex);
            benchmark::ClobberMemory();
          }
          weft::this_goroutine::yield();
        }
      });
    for (auto _ : state) {
      {
        std::lock_guard lock(mutex);
        benchmark::ClobberMemory();
      }
      weft::this_goroutine::yield();
    }
    stop = true;
    all.wait();
  });
}
BENCHMARK(mutex_contended)->Apply(on_one_and_two_ps);

static void wait_group_add_done(benchmark::State& state) {
  measure(state, [&] {
    weft::wait_group group;
    for (auto _ : state) {
      group.add(1);
      group.done();
    }
  });
}
BENCHMARK(wait_group_add_done)->Apply(on_one_and_two_ps);
