// SPDX-License-Identifier: MIT
// ping-pong: two goroutines, two unbuffered channels, `count` round trips.
#include "common/bench.h"

#include <weft/chan.h>
#include <weft/go.h>
#include <weft/runtime.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long count = args.get("count", 1'000'000);
  weft::run({.maxprocs = args.procs()}, [&] {
    weft::chan<long> ping, pong;
    weft::go([=] {
      for (long i = 0; i < count; ++i) pong.send(*ping.recv());
    });
    long sum = 0;
    const double start = bench::now_ns();
    for (long i = 0; i < count; ++i) {
      ping.send(i);
      sum += *pong.recv();
    }
    bench::report("ns", (bench::now_ns() - start) / static_cast<double>(count));
    bench::require(sum == count * (count - 1) / 2, "every value came back");
  });
}
