// SPDX-License-Identifier: MIT
// spawn-join: start one coroutine as an operation of its own, wait for it, repeat.
#include "asio/run.h"

static asio::awaitable<long> one() { co_return 1; }

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long count = args.get("count", 1'000'000);
  run(args.procs(), [&](asio::io_context& context) -> Task {
    long sum = 0;
    const double start = bench::now_ns();
    for (long i = 0; i < count; ++i) sum += co_await asio::co_spawn(context, one(), use_awaitable);
    bench::report("ns", (bench::now_ns() - start) / static_cast<double>(count));
    bench::require(sum == count, "every coroutine ran once");
  });
}
