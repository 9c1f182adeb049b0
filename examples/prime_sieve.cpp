// The sieve of Eratosthenes as a chain of processes: each holds one prime, the first number that reached it, and lets pass
// what is no multiple of it. Nobody divides: a process adds its prime to the last multiple until it is not too small.
// Hoare, Communicating Sequential Processes (1978), section 6.1 (by David Gries); like his, the chain ends where the square
// of the prime exceeds the limit, for whatever comes through there is prime.
#include <weft/chan.h>
#include <weft/go.h>
#include <cstdio>

namespace {

constexpr int kLimit = 10'000;

void sieve(weft::chan<int> west, weft::chan<int> print) {
  const int prime = *west.recv();
  print.send(prime);
  if (prime * prime > kLimit) {
    for (int n : west) print.send(n);
    print.close();
    return;
  }
  weft::chan<int> east;
  weft::go(sieve, east, print);
  int multiple = prime;
  for (int n : west) {
    while (multiple < n) multiple += prime;
    if (n != multiple) east.send(n);
  }
  east.close();
}

}  // namespace

int main() {
  weft::run([] {
    weft::chan<int> odd, print;
    weft::go(sieve, odd, print);
    weft::go([odd] {
      for (int n = 3; n < kLimit; n += 2) odd.send(n);
      odd.close();
    });
    int count = 1, last = 2;
    std::printf("2");
    for (int prime : print) {
      if (++count <= 25) std::printf(" %d", prime);
      last = prime;
    }
    std::printf(" ... %d\n%d primes below %d\n", last, count, kLimit);
  });
}
