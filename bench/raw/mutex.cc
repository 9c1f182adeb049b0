// SPDX-License-Identifier: MIT
// mutex: one atomic exchange and one release store, nobody else there: no lock that excludes others does less.
#include "common/bench.h"

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  args.procs();
  const long total = args.get("tasks", 8) * args.get("count", 1'000'000);
  static std::atomic<unsigned char> locked{0};
  volatile long sum = 0;
  const double start = bench::now_ns();
  for (long i = 0; i < total; ++i) {
    while (locked.exchange(1, std::memory_order_acquire) != 0) {
    }
    sum = sum + 1;
    locked.store(0, std::memory_order_release);
  }
  bench::report("ns", (bench::now_ns() - start) / static_cast<double>(total));
  bench::require(sum == total, "no increment was lost");
}
