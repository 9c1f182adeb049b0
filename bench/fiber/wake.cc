// SPDX-License-Identifier: MIT
// wake: after a quiet gap, A wakes the waiting B and keeps computing for 2 ms: time until B runs.
#include "fiber/run.h"

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long count = args.get("count", 200);
  const long gap_us = args.get("gap-us", 2000);
  const bool sleep = args.get("sleep", 1) != 0;
  fiber::run(args.procs(), true, [&] {
    const bench::Work work;
    boost::fibers::buffered_channel<double> event(2);
    std::vector<double> late_us;
    std::atomic<long> seen{0};
    boost::fibers::fiber other(boost::fibers::launch::post, [&] {
      for (double at : event) {
        late_us.push_back((bench::now_ns() - at) / 1000);
        ++seen;
      }
    });
    boost::this_fiber::yield();
    for (long i = 0; i < count; ++i) {
      if (sleep)
        boost::this_fiber::sleep_for(std::chrono::microseconds(gap_us));
      else
        work(static_cast<double>(gap_us));
      event.push(bench::now_ns());
      work(2000);
      while (seen.load() <= i) boost::this_fiber::yield();
    }
    event.close();
    other.join();
    bench::report("p50_us", bench::percentile(late_us, .5));
    bench::report("p99_us", bench::percentile(late_us, .99));
  });
}
