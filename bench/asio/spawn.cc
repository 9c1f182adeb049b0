// SPDX-License-Identifier: MIT
// spawn: empty coroutines in bursts, each burst waited for; the first time in the process and again.
#include "asio/run.h"

static Task empty(Countdown& all) {
  all.done();
  co_return;
}

static asio::awaitable<double> spawn_all(asio::io_context& context, long tasks, long burst) {
  const double start = bench::now_ns();
  for (long done = 0; done < tasks; done += burst) {
    Countdown all(context, burst);
    for (long i = 0; i < burst; ++i) asio::co_spawn(context, empty(all), check);
    co_await all.wait();
  }
  co_return (bench::now_ns() - start) / static_cast<double>(tasks);
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 1'000'000);
  const long burst = args.get("burst", tasks);
  run(args.procs(), [&](asio::io_context& context) -> Task {
    bench::report("cold_ns", co_await spawn_all(context, tasks, burst));
    bench::report("warm_ns", co_await spawn_all(context, tasks, burst));
  });
}
