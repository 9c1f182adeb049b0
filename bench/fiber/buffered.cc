// SPDX-License-Identifier: MIT
// buffered: producers send integers through one buffered channel to consumers. The channel wants a power of two and
// keeps one place free: 128 hold 127.
#include "fiber/run.h"

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long producers = args.get("producers", 1);
  const long consumers = args.get("consumers", 1);
  const long capacity = args.get("capacity", 128);
  const long each = args.get("count", 10'000'000) / producers;
  fiber::run(args.procs(), false, [&] {
    boost::fibers::buffered_channel<long> channel(static_cast<std::size_t>(capacity));
    fiber::WaitGroup sending(producers), receiving(consumers);
    std::atomic<long> total{0};
    const double start = bench::now_ns();
    for (long c = 0; c < consumers; ++c)
      fiber::go([&] {
        long sum = 0;
        for (long value : channel) sum += value;
        total += sum;
        receiving.done();
      });
    for (long p = 0; p < producers; ++p)
      fiber::go([&] {
        for (long i = 0; i < each; ++i) channel.push(i);
        sending.done();
      });
    sending.wait();
    channel.close();
    receiving.wait();
    bench::report("ns", (bench::now_ns() - start) / static_cast<double>(each * producers));
    bench::require(total == producers * (each * (each - 1) / 2), "every value arrived once");
  });
}
