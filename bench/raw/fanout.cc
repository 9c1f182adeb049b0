// SPDX-License-Identifier: MIT
// fan-out: threads that never sleep take tasks from one atomic counter: the speed-up that this machine has to give.
#include "common/affinity.h"

#include <thread>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const int procs = args.procs();
  const long tasks = args.get("tasks", 1000);
  const double us = static_cast<double>(args.get("work-us", 10));
  const long repeat = args.get("repeat", 20);
  const bench::Work work;
  alignas(64) std::atomic<long> next{tasks};
  alignas(64) std::atomic<long> done{0};
  std::atomic<bool> stop{false};
  const auto help = [&] {
    while (next.load(std::memory_order_relaxed) < tasks && next.fetch_add(1) < tasks) {
      work(us);
      ++done;
    }
  };
  const std::vector<int> cpus = bench::allowed_cpus();
  std::vector<std::thread> helpers;
  for (int i = 1; i < procs; ++i)
    helpers.emplace_back([&, i] {
      bench::pin_to(cpus, i);
      while (!stop.load(std::memory_order_relaxed)) help();
    });
  bench::pin_to(cpus, 0);
  double serial = 0, parallel = 0;
  for (long r = -1; r < repeat; ++r) {
    const double start = bench::now_ns();
    for (long t = 0; t < tasks; ++t) work(us);
    const double middle = bench::now_ns();
    done = 0;
    next = 0;
    help();
    while (done.load(std::memory_order_acquire) < tasks) {
    }
    if (r < 0) continue;
    serial += middle - start;
    parallel += bench::now_ns() - middle;
  }
  stop = true;
  for (auto& helper : helpers) helper.join();
  bench::report("speedup", serial / parallel);
}
