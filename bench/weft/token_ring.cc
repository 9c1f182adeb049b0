// SPDX-License-Identifier: MIT
// token_ring: `tokens` tokens go round a ring of 256 tasks over unbuffered channels, `cycles` times each (KRoC's
// mtring).
#include "common/bench.h"

#include <vector>

#include <weft/chan.h>
#include <weft/go.h>
#include <weft/runtime.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tokens = args.get("tokens", 4), cycles = args.get("cycles", 1024);
  constexpr long kTasks = 256;
  weft::run({.maxprocs = args.procs()}, [&] {
    std::vector<weft::chan<long>> links(kTasks);
    for (std::size_t t = 0; t + 1 < links.size(); ++t) {
      weft::go([in = links[t], out = links[t + 1]]() mutable {
        while (const auto token = in.recv()) out.send(*token + 1);
        out.close();
      });
    }
    auto &out = links.front(), &in = links.back();
    const bench::Meter meter;
    weft::go([out, tokens]() mutable {
      for (long i = 1; i <= tokens; ++i) out.send(i);
    });
    long sum = 0;
    for (long hops = 0; hops < tokens * cycles; ++hops) {
      const long token = *in.recv() + 1;
      if (hops >= tokens * (cycles - 1))
        sum += token;
      else
        out.send(token);
    }
    meter.report_per(tokens * cycles * kTasks);
    bench::require(sum == tokens * (tokens + 1) / 2 + tokens * kTasks * cycles, "every token made every hop");
    out.close();
  });
}
