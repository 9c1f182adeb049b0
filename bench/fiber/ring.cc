// SPDX-License-Identifier: MIT
// ring: fibers in a ring of unbuffered channels; a token goes round.
#include "fiber/run.h"

#include <memory>

using Channel = boost::fibers::unbuffered_channel<long>;

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long tasks = args.get("tasks", 10'000);
  const long laps = args.get("hops", 1'000'000) / tasks;
  fiber::run(args.procs(), false, [&] {
    std::vector<std::unique_ptr<Channel>> links;
    for (long t = 0; t < tasks; ++t) links.push_back(std::make_unique<Channel>());
    std::vector<boost::fibers::fiber> fibers;
    for (std::size_t t = 0; t + 1 < links.size(); ++t)
      fibers.emplace_back(boost::fibers::launch::post, [in = links[t].get(), out = links[t + 1].get()] {
        for (long token : *in) out->push(token + 1);
        out->close();
      });
    Channel &first = *links.front(), &last = *links.back();
    first.push(0);  // one lap so that every fiber has started and waits
    last.value_pop();
    long token = 0;
    const double start = bench::now_ns();
    for (long lap = 0; lap < laps; ++lap) {
      first.push(token);
      token = last.value_pop() + 1;
    }
    bench::report("ns", (bench::now_ns() - start) / static_cast<double>(laps * tasks));
    bench::require(token == laps * tasks, "the token made every hop");
    bench::quit();
  });
}
