// SPDX-License-Identifier: MIT
// skynet: a tree of fibers with ten children each; each node sums its children's channel.
#include "fiber/run.h"

using Channel = boost::fibers::unbuffered_channel<long>;

static void skynet(Channel& parent, long number, long size) {
  if (size == 1) {
    parent.push(number);
    return;
  }
  Channel children;
  std::vector<boost::fibers::fiber> fibers;
  for (long i = 0; i < 10; ++i)
    fibers.emplace_back(boost::fibers::launch::post, [&children, first = number + i * (size / 10), part = size / 10] {
      skynet(children, first, part);
    });
  long sum = 0;
  for (int i = 0; i < 10; ++i) sum += children.value_pop();
  for (auto& child : fibers) child.join();  // the channel lives in this frame
  parent.push(sum);
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long leaves = args.get("leaves", 1'000'000);
  fiber::run(args.procs(), false, [&] {
    for (const char* metric : {"cold_s", "warm_s"}) {
      Channel result;
      const double start = bench::now_ns();
      boost::fibers::fiber root(boost::fibers::launch::post, [&] { skynet(result, 0, leaves); });
      const long sum = result.value_pop();
      root.join();
      bench::report(metric, (bench::now_ns() - start) / 1e9);
      bench::require(sum == leaves * (leaves - 1) / 2, "sum of the leaves");
    }
  });
}
