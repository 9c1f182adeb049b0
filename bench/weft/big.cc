// SPDX-License-Identifier: MIT
// big: `tasks` actors ping random others and wait for the answer, `pings` times each (Savina's big).
#include "common/bench.h"

#include <vector>

#include <weft/chan.h>
#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sync.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 120), pings = args.get("pings", 2000);
  weft::run({.maxprocs = args.procs()}, [&] {
    struct Message {
      long from;
      bool is_ping;
    };
    std::vector<weft::chan<Message>> mailboxes;
    for (long i = 0; i < tasks; ++i) mailboxes.emplace_back(static_cast<std::size_t>(2 * tasks));
    weft::wait_group done, group;
    done.add(static_cast<int>(tasks));
    std::atomic<long> answered{0};
    const bench::Meter meter;
    for (long self = 0; self < tasks; ++self) {
      group.go([&, self] {
        bench::Random random(static_cast<std::uint64_t>(self) + 1);
        const auto box = [&](long of) -> weft::chan<Message>& { return mailboxes[static_cast<std::size_t>(of)]; };
        const auto ping = [&] {
          const auto to = random.next() % static_cast<std::uint64_t>(tasks);
          box(static_cast<long>(to)).send({self, true});
        };
        long left = pings;
        ping();
        while (const auto message = box(self).recv()) {
          if (message->is_ping) {
            box(message->from).send({self, false});
            continue;
          }
          answered.fetch_add(1, std::memory_order_relaxed);
          if (--left > 0)
            ping();
          else
            done.done();
        }
      });
    }
    done.wait();
    meter.report_per(tasks * pings);
    for (auto& mailbox : mailboxes) mailbox.close();
    group.wait();
    bench::require(answered == tasks * pings, "every ping was answered");
  });
}
