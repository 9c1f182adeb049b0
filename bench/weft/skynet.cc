// SPDX-License-Identifier: MIT
// skynet: a tree of goroutines with ten children each and `leaves` leaves; each node sums its children's channel.
#include "common/bench.h"

#include <weft/chan.h>
#include <weft/go.h>
#include <weft/runtime.h>

static void skynet(weft::chan<long> parent, long number, long size) {
  if (size == 1) {
    parent.send(number);
    return;
  }
  weft::chan<long> children;
  for (long i = 0; i < 10; ++i)
    weft::go([children, first = number + i * (size / 10), part = size / 10] { skynet(children, first, part); });
  long sum = 0;
  for (int i = 0; i < 10; ++i) sum += *children.recv();
  parent.send(sum);
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long leaves = args.get("leaves", 1'000'000);
  weft::run({.maxprocs = args.procs()}, [&] {
    for (const char* metric : {"cold_s", "warm_s"}) {
      weft::chan<long> result;
      const double start = bench::now_ns();
      weft::go([result, leaves] { skynet(result, 0, leaves); });
      const long sum = *result.recv();
      bench::report(metric, (bench::now_ns() - start) / 1e9);
      bench::require(sum == leaves * (leaves - 1) / 2, "sum of the leaves");
    }
  });
}
