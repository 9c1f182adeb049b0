// SPDX-License-Identifier: MIT
// ping-pong: on one core two bare context switches; on two cores a cache line that two spinning threads pass back and forth.
#include "common/affinity.h"
#include "raw/context.h"

#include <thread>

static void* main_context;
static void* other_context;
static long value;

static void reply() {
  for (;;) raw_switch(&other_context, main_context);
}

static double by_switching(long count) {
  other_context = raw::make_context(reply);
  long sum = 0;
  const double start = bench::now_ns();
  for (long i = 0; i < count; ++i) {
    value = i;
    raw_switch(&main_context, other_context);
    sum += value;
  }
  const double elapsed = bench::now_ns() - start;
  bench::require(sum == count * (count - 1) / 2, "every value came back");
  return elapsed;
}

static double by_spinning(long count) {
  alignas(64) static std::atomic<long> turn{0};
  const std::vector<int> cpus = bench::allowed_cpus();
  std::thread other([&cpus, count] {
    bench::pin_to(cpus, 1);
    for (long i = 0; i < count; ++i) {
      while (turn.load(std::memory_order_acquire) != 2 * i + 1) {
      }
      turn.store(2 * i + 2, std::memory_order_release);
    }
  });
  bench::pin_to(cpus, 0);
  const double start = bench::now_ns();
  for (long i = 0; i < count; ++i) {
    turn.store(2 * i + 1, std::memory_order_release);
    while (turn.load(std::memory_order_acquire) != 2 * i + 2) {
    }
  }
  const double elapsed = bench::now_ns() - start;
  other.join();
  return elapsed;
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const int procs = args.procs();
  const long count = args.get("count", 1'000'000);
  bench::report("ns", (procs == 1 ? by_switching(count) : by_spinning(count)) / static_cast<double>(count));
}
