// SPDX-License-Identifier: MIT
// idle: CPU time of a process whose coroutines all wait.
#include "asio/run.h"

static Task waiter(asio::steady_timer& event) {
  boost::system::error_code cancelled;
  co_await event.async_wait(asio::redirect_error(use_awaitable, cancelled));
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 10'000);
  const long ms = args.get("ms", 3000);
  run(args.procs(), [&](asio::io_context& context) -> Task {
    using clock = std::chrono::steady_clock;
    asio::steady_timer event(context, clock::time_point::max()), pause(context);
    for (long t = 0; t < tasks; ++t) asio::co_spawn(context, waiter(event), check);
    co_await sleep_until(pause, clock::now() + std::chrono::milliseconds(500));
    const double cpu = bench::cpu_ns(), start = bench::now_ns();
    co_await sleep_until(pause, clock::now() + std::chrono::milliseconds(ms));
    bench::report("cpu_ms_per_s", (bench::cpu_ns() - cpu) / (bench::now_ns() - start) * 1000);
    bench::quit();
  });
}
