// SPDX-License-Identifier: MIT
// wake_calls: a task starts another, both block their thread for `delay-us` in an announced call, and meet (Go's
// WakeupParallelSyscall).
#include "common/bench.h"

#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sync.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long count = args.get("count", 3'000), delay_us = args.get("delay-us", 20);
  weft::run({.maxprocs = args.procs()}, [&] {
    const auto call = [delay_us] { weft::blocking([delay_us] { bench::sleep_thread_us(delay_us); }); };
    const bench::Meter meter;
    for (long i = 0; i < count; ++i) {
      weft::wait_group group;
      group.go(call);
      call();
      group.wait();
    }
    meter.report_per(count);
  });
}
