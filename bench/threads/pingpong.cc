// SPDX-License-Identifier: MIT
// ping-pong: two threads, two binary semaphores (futexes), `count` round trips.
#include "common/affinity.h"
#include "common/bench.h"

#include <semaphore>
#include <thread>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  bench::use_processors(args.procs());
  const long count = args.get("count", 100'000);
  std::binary_semaphore ping{0}, pong{0};
  long value = 0, sum = 0;
  std::thread other([&] {
    for (long i = 0; i < count; ++i) {
      ping.acquire();
      sum += value;
      pong.release();
    }
  });
  const double start = bench::now_ns();
  for (long i = 0; i < count; ++i) {
    value = i;
    ping.release();
    pong.acquire();
  }
  bench::report("ns", (bench::now_ns() - start) / static_cast<double>(count));
  other.join();
  bench::require(sum == count * (count - 1) / 2, "every value arrived");
}
