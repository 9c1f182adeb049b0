// SPDX-License-Identifier: MIT
// buffered: producers send integers through one buffered channel to consumers.
#include "asio/run.h"

using boost::system::error_code;

template <template <class> class Kind>
static Task produce(Kind<long>& channel, long count, Countdown& sending) {
  for (long i = 0; i < count; ++i) co_await channel.async_send(error_code(), i, use_awaitable);
  sending.done();
}

// Each consumer takes its share: closing an Asio channel drops what it still holds.
template <template <class> class Kind>
static Task consume(Kind<long>& channel, long count, std::atomic<long>& total, Countdown& receiving) {
  long sum = 0;
  for (long i = 0; i < count; ++i) sum += co_await channel.async_receive(use_awaitable);
  total += sum;
  receiving.done();
}

template <template <class> class Kind>
static Task measure(asio::io_context& context, long producers, long consumers, long capacity, long each) {
  Kind<long> channel(context, static_cast<std::size_t>(capacity));
  Countdown sending(context, producers), receiving(context, consumers);
  std::atomic<long> total{0};
  const double start = bench::now_ns();
  for (long c = 0; c < consumers; ++c)
    asio::co_spawn(context, consume<Kind>(channel, each * producers / consumers, total, receiving), check);
  for (long p = 0; p < producers; ++p) asio::co_spawn(context, produce<Kind>(channel, each, sending), check);
  co_await sending.wait();
  co_await receiving.wait();
  bench::report("ns", (bench::now_ns() - start) / static_cast<double>(each * producers));
  bench::require(total == producers * (each * (each - 1) / 2), "every value arrived once");
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long producers = args.get("producers", 1);
  const long consumers = args.get("consumers", 1);
  const long capacity = args.get("capacity", 128);
  const long each = args.get("count", 10'000'000) / producers;
  const int procs = args.procs();
  run(procs, [&](asio::io_context& context) -> Task {
    if (procs == 1)
      co_await measure<Channel>(context, producers, consumers, capacity, each);
    else
      co_await measure<ConcurrentChannel>(context, producers, consumers, capacity, each);
  });
}
