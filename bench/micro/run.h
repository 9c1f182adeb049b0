// SPDX-License-Identifier: MIT
// Google Benchmark drives a plain thread; what is measured must run in a goroutine. measure() runs the whole benchmark,
// loop and clocks, inside one. The real clock counts: the thread that the library looks at only waits.
#pragma once

#include <benchmark/benchmark.h>

#include <weft/go.h>
#include <weft/runtime.h>

template <class F>
void measure(benchmark::State& state, F&& body) {
  weft::run({.maxprocs = static_cast<int>(state.range(0))}, [&] { body(); });
}

// Every micro benchmark takes the number of Ps as its first argument.
inline void on_one_and_two_ps(benchmark::internal::Benchmark* each) {
  each->ArgName("P")->Arg(1)->Arg(2)->UseRealTime();
}
