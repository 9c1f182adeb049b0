// SPDX-License-Identifier: MIT
// hog_pairs: two tasks hand over after `heavy` steps, two others after `light` steps, for `ms`: how many steps the
// favoured pair gets for each step of the other (Go's PingPongHog asks the same).
#include "common/bench.h"

#include <chrono>

#include <weft/chan.h>
#include <weft/go.h>
#include <weft/runtime.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long heavy = args.get("heavy", 1'000'000), light = args.get("light", 1'000), ms = args.get("ms", 1'000);
  weft::run({.maxprocs = args.procs()}, [&] {
    std::atomic<long> made[2] = {};
    const auto start_pair = [&](std::size_t pair, long steps) {
      weft::chan<bool> ping, pong;
      const auto play = [&made, pair, steps](weft::chan<bool> in, weft::chan<bool> out) {
        while (in.recv()) {
          bench::sink.store(bench::spin(static_cast<std::uint64_t>(steps)), std::memory_order_relaxed);
          made[pair].fetch_add(steps, std::memory_order_relaxed);
          out.send(true);
        }
      };
      weft::go(play, ping, pong);
      weft::go(play, pong, ping);
      weft::go([first = ping]() mutable { first.send(true); });
    };
    start_pair(0, heavy);
    start_pair(1, light);
    weft::this_goroutine::sleep_for(std::chrono::milliseconds(ms));
    const auto one = static_cast<double>(made[0]), other = static_cast<double>(made[1]);
    bench::report("unfairness", std::max(one, other) / std::max(std::min(one, other), 1.0));
    bench::quit();
  });
}
