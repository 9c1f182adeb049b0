// SPDX-License-Identifier: MIT
// create: `tasks` actors are made, each gets one message and computes a little (Savina's fjcreate).
#include "common/bench.h"

#include <weft/chan.h>
#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sync.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 40'000), steps = args.get("steps", 100), rounds = args.get("rounds", 5);
  weft::run({.maxprocs = args.procs()}, [&] {
    std::atomic<long> sum{0};
    const bench::Meter meter;
    for (long round = 0; round < rounds; ++round) {
      weft::wait_group group;
      for (long i = 0; i < tasks; ++i) {
        weft::chan<long> mailbox(1);
        group.go([&, mailbox]() mutable {
          const long message = *mailbox.recv();
          bench::sink.store(bench::spin(static_cast<std::uint64_t>(steps)), std::memory_order_relaxed);
          sum.fetch_add(message, std::memory_order_relaxed);
        });
        mailbox.send(1);
      }
      group.wait();
    }
    meter.report_per(tasks * rounds);
    bench::require(sum == tasks * rounds, "every actor got its message");
  });
}
