// SPDX-License-Identifier: MIT
// buffered: `producers` send `count` integers through one channel of `capacity` to `consumers`.
#include "common/bench.h"

#include <weft/chan.h>
#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sync.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long producers = args.get("producers", 1);
  const long consumers = args.get("consumers", 1);
  const long capacity = args.get("capacity", 128);
  const long each = args.get("count", 10'000'000) / producers;
  weft::run({.maxprocs = args.procs()}, [&] {
    weft::chan<long> channel(static_cast<std::size_t>(capacity));
    weft::wait_group sending, receiving;
    sending.add(static_cast<int>(producers));
    receiving.add(static_cast<int>(consumers));
    std::atomic<long> total{0};
    const double start = bench::now_ns();
    for (long c = 0; c < consumers; ++c)
      weft::go([&]() {
        long sum = 0;
        while (auto value = channel.recv()) sum += *value;
        total += sum;
        receiving.done();
      });
    for (long p = 0; p < producers; ++p)
      weft::go([&]() {
        for (long i = 0; i < each; ++i) channel.send(i);
        sending.done();
      });
    sending.wait();
    channel.close();
    receiving.wait();
    bench::report("ns", (bench::now_ns() - start) / static_cast<double>(each * producers));
    bench::require(total == producers * (each * (each - 1) / 2), "every value arrived once");
  });
}
