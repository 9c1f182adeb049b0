// SPDX-License-Identifier: MIT
// banking: a teller orders `count` transfers between random accounts of `tasks`; each account is an actor that debits
// itself, tells the other, and waits for its answer (Savina's banking). The teller keeps `open` transfers under way.
#include "common/bench.h"

#include <vector>

#include <weft/chan.h>
#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sync.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 1000), count = args.get("count", 50'000), open = args.get("open", 500);
  weft::run({.maxprocs = args.procs()}, [&] {
    struct Message {
      long to;  // negative: a credit
      long amount;
      weft::chan<bool>* answer;
    };
    std::vector<weft::chan<Message>> accounts;
    for (long i = 0; i < tasks; ++i) accounts.emplace_back(static_cast<std::size_t>(open));
    weft::chan<bool> finished(static_cast<std::size_t>(open));
    std::vector<long> balances(static_cast<std::size_t>(tasks));
    weft::wait_group group;
    for (long self = 0; self < tasks; ++self) {
      group.go([&, self] {
        const auto at = static_cast<std::size_t>(self);
        weft::chan<bool> answered(1);
        while (const auto message = accounts[at].recv()) {
          if (message->to < 0) {
            balances[at] += message->amount;
            message->answer->send(true);
            continue;
          }
          balances[at] -= message->amount;
          accounts[static_cast<std::size_t>(message->to)].send({-1, message->amount, &answered});
          answered.recv();
          message->answer->send(true);
        }
      });
    }
    bench::Random random(1);
    const bench::Meter meter;
    for (long i = 0; i < count; ++i) {
      if (i >= open) finished.recv();
      // From a lower to a higher account: two that waited for each other would wait for ever.
      const long from = static_cast<long>(random.next() % static_cast<std::uint64_t>(tasks - 1));
      const long to = from + 1 + static_cast<long>(random.next() % static_cast<std::uint64_t>(tasks - from - 1));
      accounts[static_cast<std::size_t>(from)].send({to, 1 + i % 100, &finished});
    }
    for (long i = 0; i < std::min(open, count); ++i) finished.recv();
    meter.report_per(count);
    for (auto& account : accounts) account.close();
    group.wait();
    long sum = 0;
    for (const long balance : balances) sum += balance;
    bench::require(sum == 0, "no money was made or lost");
  });
}
