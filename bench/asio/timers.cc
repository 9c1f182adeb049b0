// SPDX-License-Identifier: MIT
// timers: start timers that end in an hour, cancel them all, then start and cancel one at a time. The handlers of
// cancelled timers are still to be run afterwards; that time is not counted.
#include "asio/run.h"

#include <deque>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long count = args.get("count", 1'000'000);
  run(args.procs(), [&](asio::io_context& context) -> Task {
    using std::chrono::hours;
    using std::chrono::microseconds;
    const auto nothing = [](boost::system::error_code) {};
    std::deque<asio::steady_timer> timers;
    double start = bench::now_ns();
    for (long i = 0; i < count; ++i)
      timers.emplace_back(context, hours(1) + microseconds(i * 7919 % count)).async_wait(nothing);
    bench::report("create_ns", (bench::now_ns() - start) / static_cast<double>(count));
    start = bench::now_ns();
    for (auto& timer : timers) timer.cancel();
    bench::report("stop_ns", (bench::now_ns() - start) / static_cast<double>(count));
    start = bench::now_ns();
    for (long i = 0; i < count; ++i) {
      asio::steady_timer timer(context, hours(1));
      timer.async_wait(nothing);
      timer.cancel();
    }
    bench::report("churn_ns", (bench::now_ns() - start) / static_cast<double>(count));
    bench::quit();
    co_return;
  });
}
