// SPDX-License-Identifier: MIT
// count: one producer fills one mailbox of `capacity` places, one counter empties it (Savina's counting actor).
#include "common/bench.h"

#include <weft/chan.h>
#include <weft/go.h>
#include <weft/runtime.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long count = args.get("count", 1'000'000);
  const auto capacity = static_cast<std::size_t>(args.get("capacity", 1024));
  weft::run({.maxprocs = args.procs()}, [&] {
    weft::chan<long> mailbox(capacity), result;
    const bench::Meter meter;
    weft::go([=]() mutable {
      long sum = 0;
      while (const auto message = mailbox.recv()) sum += *message;
      result.send(sum);
    });
    for (long i = 0; i < count; ++i) mailbox.send(1);
    mailbox.close();
    const long sum = *result.recv();
    meter.report_per(count);
    bench::require(sum == count, "every message was counted");
  });
}
