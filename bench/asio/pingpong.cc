// SPDX-License-Identifier: MIT
// ping-pong: two coroutines, two unbuffered channels (the unlocked kind when there is one thread).
#include "asio/run.h"

using boost::system::error_code;

template <template <class> class Kind>
static Task reply(Kind<long>& ping, Kind<long>& pong, long count) {
  for (long i = 0; i < count; ++i) {
    const long value = co_await ping.async_receive(use_awaitable);
    co_await pong.async_send(error_code(), value, use_awaitable);
  }
}

template <template <class> class Kind>
static Task measure(asio::io_context& context, long count) {
  Kind<long> ping(context), pong(context);
  Countdown ended(context, 1);
  asio::co_spawn(context, reply<Kind>(ping, pong, count), [&](std::exception_ptr error) {
    check(error);
    ended.done();
  });
  long sum = 0;
  const double start = bench::now_ns();
  for (long i = 0; i < count; ++i) {
    co_await ping.async_send(error_code(), i, use_awaitable);
    sum += co_await pong.async_receive(use_awaitable);
  }
  bench::report("ns", (bench::now_ns() - start) / static_cast<double>(count));
  bench::require(sum == count * (count - 1) / 2, "every value came back");
  co_await ended.wait();
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long count = args.get("count", 1'000'000);
  const int procs = args.procs();
  run(procs, [&](asio::io_context& context) -> Task {
    if (procs == 1)
      co_await measure<Channel>(context, count);
    else
      co_await measure<ConcurrentChannel>(context, count);
  });
}
