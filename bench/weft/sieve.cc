// SPDX-License-Identifier: MIT
// sieve: the first `primes` primes by a chain of filter goroutines over unbuffered channels.
#include "common/bench.h"

#include <weft/chan.h>
#include <weft/go.h>
#include <weft/runtime.h>

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const long primes = args.get("primes", 2000);
  weft::run({.maxprocs = args.procs()}, [&] {
    const double start = bench::now_ns();
    weft::chan<int> source;
    weft::go([source] {
      for (int i = 2;; ++i) source.send(i);
    });
    int prime = 0;
    for (long i = 0; i < primes; ++i) {
      prime = *source.recv();
      weft::chan<int> filtered;
      weft::go([source, filtered, prime] {
        while (auto value = source.recv())
          if (*value % prime != 0) filtered.send(*value);
      });
      source = filtered;
    }
    bench::report("s", (bench::now_ns() - start) / 1e9);
    bench::require(primes != 2000 || prime == 17389, "the 2000th prime is 17389");
    bench::quit();  // the filters wait for ever, as in every version of this program
  });
}
