// SPDX-License-Identifier: MIT
// ring: `tasks` goroutines in a ring of unbuffered channels; a token makes `hops` hops.
#include "common/bench.h"

#include <vector>

#include <weft/chan.h>
#include <weft/go.h>
#include <weft/runtime.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 10'000);
  const long laps = args.get("hops", 1'000'000) / tasks;
  weft::run({.maxprocs = args.procs()}, [&] {
    std::vector<weft::chan<long>> links(static_cast<std::size_t>(tasks));
    for (std::size_t t = 0; t + 1 < links.size(); ++t)
      weft::go([in = links[t], out = links[t + 1]] {
        while (auto token = in.recv()) out.send(*token + 1);
        out.close();
      });
    auto &first = links.front(), &last = links.back();
    first.send(0);  // one lap so that every goroutine has started and waits
    last.recv();
    long token = 0;
    const double start = bench::now_ns();
    for (long lap = 0; lap < laps; ++lap) {
      first.send(token);
      token = *last.recv() + 1;
    }
    bench::report("ns", (bench::now_ns() - start) / static_cast<double>(laps * tasks));
    bench::require(token == laps * tasks, "the token made every hop");
    first.close();
  });
}
