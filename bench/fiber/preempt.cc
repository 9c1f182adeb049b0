// SPDX-License-Identifier: MIT
// preempt: as many fibers as workers compute without ever yielding; another wakes every millisecond. Ticks are due at
// fixed times: one that is missed counts with its full lateness. Boost.Fiber does not preempt; the row shows the effect.
#include "fiber/run.h"

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const int procs = args.procs();
  const long ms = args.get("ms", 3000);
  std::atomic<bool> stop{false};
  std::thread end([&] {
    bench::sleep_thread_us(ms * 1000);
    stop = true;
  });
  fiber::run(procs, true, [&] {
    fiber::WaitGroup hogs(procs);
    for (int i = 0; i < procs; ++i)
      fiber::go([&] {
        std::uint64_t x = 1;
        while (!stop.load(std::memory_order_relaxed)) x = x * 6364136223846793005ull + 1;
        bench::sink = x;
        hogs.done();
      });
    std::vector<double> late_ms;
    auto due = std::chrono::steady_clock::now();
    for (long i = 0; i < ms; ++i) {
      due += std::chrono::milliseconds(1);
      boost::this_fiber::sleep_until(due);
      late_ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - due).count());
    }
    hogs.wait();
    bench::report("late_p50_ms", bench::percentile(late_ms, .5));
    bench::report("late_p99_ms", bench::percentile(late_ms, .99));
  });
  end.join();
}
