// SPDX-License-Identifier: MIT
// yield: coroutines post themselves to the end of the queue.
#include "asio/run.h"

static Task yielder(asio::io_context& context, Countdown& all, long count) {
  for (long i = 0; i < count; ++i) co_await asio::post(context, use_awaitable);
  all.done();
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 1);
  const long count = args.get("count", 1'000'000);
  run(args.procs(), [&](asio::io_context& context) -> Task {
    Countdown all(context, tasks);
    const double start = bench::now_ns();
    for (long t = 0; t < tasks; ++t) asio::co_spawn(context, yielder(context, all, count), check);
    co_await all.wait();
    bench::report("ns", (bench::now_ns() - start) / static_cast<double>(tasks * count));
  });
}
