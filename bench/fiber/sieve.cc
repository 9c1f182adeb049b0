// SPDX-License-Identifier: MIT
// sieve: primes by a chain of filter fibers over unbuffered channels.
#include "fiber/run.h"

#include <memory>

using Channel = boost::fibers::unbuffered_channel<int>;

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long primes = args.get("primes", 2000);
  fiber::run(args.procs(), false, [&] {
    const double start = bench::now_ns();
    auto source = std::make_shared<Channel>();
    fiber::go([source] {
      for (int i = 2;; ++i) source->push(i);
    });
    int prime = 0;
    for (long i = 0; i < primes; ++i) {
      prime = source->value_pop();
      auto filtered = std::make_shared<Channel>();
      fiber::go([source, filtered, prime] {
        for (int value : *source)
          if (value % prime != 0) filtered->push(value);
      });
      source = filtered;
    }
    bench::report("s", (bench::now_ns() - start) / 1e9);
    bench::require(primes != 2000 || prime == 17389, "the 2000th prime is 17389");
    bench::quit();
  });
}
