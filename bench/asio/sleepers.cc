// SPDX-License-Identifier: MIT
// sleepers: coroutines sleep for random 1 to 50 ms; wall and CPU time, lateness.
#include "asio/run.h"

static Task sleeper(asio::io_context& context, long number, long count, double* late_us, Countdown& all) {
  asio::steady_timer timer(context);
  bench::Random random(static_cast<std::uint64_t>(number) + 1);
  for (long i = 0; i < count; ++i) {
    const auto us = 1000 + static_cast<long>(random.next() % 49'000);
    const double due = bench::now_ns() + static_cast<double>(us) * 1000;
    timer.expires_after(std::chrono::microseconds(us));
    co_await timer.async_wait(use_awaitable);
    late_us[i] = (bench::now_ns() - due) / 1000;
  }
  all.done();
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 1000);
  const long count = args.get("count", 10);
  run(args.procs(), [&](asio::io_context& context) -> Task {
    std::vector<double> late_us(static_cast<std::size_t>(tasks * count));
    Countdown all(context, tasks);
    const double cpu = bench::cpu_ns(), start = bench::now_ns();
    for (long t = 0; t < tasks; ++t)
      asio::co_spawn(context, sleeper(context, t, count, late_us.data() + t * count, all), check);
    co_await all.wait();
    bench::report("wall_s", (bench::now_ns() - start) / 1e9);
    bench::report("cpu_s", (bench::cpu_ns() - cpu) / 1e9);
    bench::report("late_p50_us", bench::percentile(late_us, .5));
    bench::report("late_p99_us", bench::percentile(late_us, .99));
  });
}
