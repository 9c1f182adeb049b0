// SPDX-License-Identifier: MIT
// bounded_buffer: `pairs` producers and as many consumers around a manager that keeps `buffer` items (Savina's
// bndbuffer): each item costs its producer and its consumer `work-us` of computing.
#include "common/bench.h"

#include <weft/chan.h>
#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/select.h>
#include <weft/sync.h>

#include <deque>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long pairs = args.get("pairs", 40), items = args.get("items", 1000), work_us = args.get("work-us", 1);
  const auto buffer = static_cast<std::size_t>(args.get("buffer", 50));
  weft::run({.maxprocs = args.procs()}, [&] {
    const bench::Work work;
    weft::chan<long> in, out;
    weft::wait_group producers, consumers;
    std::atomic<long> sum{0};
    const bench::Meter meter;
    for (long p = 0; p < pairs; ++p) {
      producers.go([&] {
        for (long i = 1; i <= items; ++i) {
          work(static_cast<double>(work_us));
          in.send(i);
        }
      });
      consumers.go([&] {
        long own = 0;
        while (const auto item = out.recv()) {
          work(static_cast<double>(work_us));
          own += *item;
        }
        sum += own;
      });
    }
    weft::go([&] {
      producers.wait();
      in.close();
    });
    std::deque<long> kept;
    bool open = true;
    while (open || !kept.empty()) {
      const long next = kept.empty() ? 0 : kept.front();
      weft::select(weft::on_recv(open && kept.size() < buffer ? in : weft::chan<long>::nil(),
                                 [&](std::optional<long> item) {
                                   if (item)
                                     kept.push_back(*item);
                                   else
                                     open = false;
                                 }),
                   weft::on_send(kept.empty() ? weft::chan<long>::nil() : out, next, [&] { kept.pop_front(); }));
    }
    out.close();
    consumers.wait();
    meter.report_per(pairs * items);
    bench::require(sum == pairs * items * (items + 1) / 2, "every item was consumed");
  });
}
