// SPDX-License-Identifier: MIT
// parked: coroutines wait for one event, a timer that is cancelled; memory and time to create and to end them.
#include "asio/run.h"

static Task waiter(asio::steady_timer& event, Countdown& parked, Countdown& ended) {
  parked.done();
  boost::system::error_code cancelled;
  co_await event.async_wait(asio::redirect_error(use_awaitable, cancelled));
  ended.done();
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 1'000'000);
  const long settle_ms = args.get("settle-ms", 10'000);
  run(args.procs(), [&](asio::io_context& context) -> Task {
    asio::steady_timer event(context, asio::steady_timer::time_point::max()), pause(context);
    Countdown parked(context, tasks), ended(context, tasks);
    const long before = bench::resident_bytes();
    double start = bench::now_ns();
    for (long t = 0; t < tasks; ++t) asio::co_spawn(context, waiter(event, parked, ended), check);
    co_await parked.wait();
    const double per_task = 1.0 / static_cast<double>(tasks);
    bench::report("create_ns", (bench::now_ns() - start) * per_task);
    bench::report("bytes", static_cast<double>(bench::resident_bytes() - before) * per_task);
    co_await sleep_until(pause,
                         std::chrono::steady_clock::now() + std::chrono::milliseconds(10));  // the last one waits
    start = bench::now_ns();
    event.cancel();
    co_await ended.wait();
    bench::report("exit_ns", (bench::now_ns() - start) * per_task);
    co_await sleep_until(pause, std::chrono::steady_clock::now() + std::chrono::milliseconds(settle_ms));
    bench::report("after_mb", static_cast<double>(bench::resident_bytes()) / 1e6);
  });
}
