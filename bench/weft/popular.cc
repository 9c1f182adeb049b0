// SPDX-License-Identifier: MIT
// popular: `tasks` receivers select between one channel they share and one of their own; one sender serves them in turn
// (Go's ChanPopular).
#include "common/bench.h"

#include <vector>

#include <weft/chan.h>
#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/select.h>
#include <weft/sync.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 1000), rounds = args.get("rounds", 300);
  weft::run({.maxprocs = args.procs()}, [&] {
    weft::chan<bool> shared;
    std::vector<weft::chan<bool>> own(static_cast<std::size_t>(tasks));
    weft::wait_group group;
    for (auto& channel : own) {
      group.go([&shared, &channel, rounds] {
        for (long i = 0; i < rounds; ++i) weft::select(weft::on_recv(shared), weft::on_recv(channel));
      });
    }
    const bench::Meter meter;
    for (long i = 0; i < rounds; ++i)
      for (auto& channel : own) channel.send(true);
    group.wait();
    meter.report_per(rounds * tasks);
  });
}
