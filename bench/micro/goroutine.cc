// SPDX-License-Identifier: MIT
// What one goroutine operation costs.
#include "micro/run.h"

#include <weft/sync.h>

static void yield_alone(benchmark::State& state) {
  measure(state, [&] {
    for (auto _ : state) weft::this_goroutine::yield();
  });
}
BENCHMARK(yield_alone)->Apply(on_one_and_two_ps);

// Goroutines that yield until told to stop, so that each of our yields runs all of them once (at P = 1).
static void yield_among(benchmark::State& state, int others) {
  measure(state, [&] {
    std::atomic<bool> stop{false};
    weft::wait_group all;
    for (int i = 0; i < others; ++i)
      all.go([&] {
        while (!stop.load(std::memory_order_relaxed)) weft::this_goroutine::yield();
      });
    for (auto _ : state) weft::this_goroutine::yield();
    stop = true;
    all.wait();
  });
  state.SetItemsProcessed(state.iterations() * (others + 1));
}
static void yield_two(benchmark::State& state) { yield_among(state, 1); }
static void yield_thousand(benchmark::State& state) { yield_among(state, 999); }
BENCHMARK(yield_two)->Apply(on_one_and_two_ps);
BENCHMARK(yield_thousand)->Apply(on_one_and_two_ps);

static void spawn_and_wait_100(benchmark::State& state) {
  measure(state, [&] {
    for (auto _ : state) {
      weft::wait_group all;
      all.add(100);
      for (int i = 0; i < 100; ++i) weft::go([&all] { all.done(); });
      all.wait();
    }
  });
  state.SetItemsProcessed(state.iterations() * 100);
}
BENCHMARK(spawn_and_wait_100)->Apply(on_one_and_two_ps);

static void spawn_join(benchmark::State& state) {
  measure(state, [&] {
    for (auto _ : state) weft::spawn([] {}).join();
  });
}
BENCHMARK(spawn_join)->Apply(on_one_and_two_ps);

static void spawn_join_value(benchmark::State& state) {
  measure(state, [&] {
    for (auto _ : state) benchmark::DoNotOptimize(weft::spawn([] { return 42; }).join());
  });
}
BENCHMARK(spawn_join_value)->Apply(on_one_and_two_ps);

static void large_closure(benchmark::State& state) {
  measure(state, [&] {
    struct Large {
      char bytes[200];
    } large{};
    for (auto _ : state) weft::spawn([large] { benchmark::DoNotOptimize(large.bytes[0]); }).join();
  });
}
BENCHMARK(large_closure)->Apply(on_one_and_two_ps);

static void get_id(benchmark::State& state) {
  measure(state, [&] {
    for (auto _ : state) benchmark::DoNotOptimize(weft::this_goroutine::get_id());
  });
}
BENCHMARK(get_id)->Apply(on_one_and_two_ps);
