// SPDX-License-Identifier: MIT
// ping-pong: two fibers, two unbuffered channels.
#include "fiber/run.h"

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long count = args.get("count", 1'000'000);
  fiber::run(args.procs(), false, [&] {
    boost::fibers::unbuffered_channel<long> ping, pong;
    boost::fibers::fiber other(boost::fibers::launch::post, [&] {
      for (long value : ping) pong.push(value);
    });
    long sum = 0;
    const double start = bench::now_ns();
    for (long i = 0; i < count; ++i) {
      ping.push(i);
      sum += pong.value_pop();
    }
    bench::report("ns", (bench::now_ns() - start) / static_cast<double>(count));
    bench::require(sum == count * (count - 1) / 2, "every value came back");
    ping.close();
    other.join();
  });
}
