// SPDX-License-Identifier: MIT
// What announcing a call that may block costs.
#include "micro/run.h"

#include <sys/syscall.h>
#include <unistd.h>

static void getpid_plain(benchmark::State& state) {
  measure(state, [&] {
    for (auto _ : state) benchmark::DoNotOptimize(syscall(SYS_getpid));
  });
}
BENCHMARK(getpid_plain)->Apply(on_one_and_two_ps);

static void getpid_blocking(benchmark::State& state) {
  measure(state, [&] {
    for (auto _ : state) benchmark::DoNotOptimize(weft::blocking([] { return syscall(SYS_getpid); }));
  });
}
BENCHMARK(getpid_blocking)->Apply(on_one_and_two_ps);

static void empty_blocking(benchmark::State& state) {
  measure(state, [&] {
    for (auto _ : state) weft::blocking([] {});
  });
}
BENCHMARK(empty_blocking)->Apply(on_one_and_two_ps);
