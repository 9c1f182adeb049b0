// SPDX-License-Identifier: MIT
// select: two producers on two unbuffered channels, one consumer selecting between them.
#include "common/bench.h"

#include <weft/chan.h>
#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/select.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long half = args.get("count", 1'000'000) / 2;
  weft::run({.maxprocs = args.procs()}, [&] {
    weft::chan<long> left, right;
    for (weft::chan<long> channel : {left, right})
      weft::go([channel, half] {
        for (long i = 0; i < half; ++i) channel.send(i);
      });
    long sum = 0;
    const double start = bench::now_ns();
    for (long i = 0; i < 2 * half; ++i)
      weft::select(weft::on_recv(left, [&](std::optional<long> value) { sum += *value; }),
                   weft::on_recv(right, [&](std::optional<long> value) { sum += *value; }));
    bench::report("ns", (bench::now_ns() - start) / static_cast<double>(2 * half));
    bench::require(sum == half * (half - 1), "every value arrived once");
  });
}
