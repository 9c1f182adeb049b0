// A rate limiter (token bucket): what is used seldom may come in bursts, what is used much is slowed down to the rate of the
// ticks. The bucket is a buffered channel of tokens: a tick puts one in, if there is room; who wants to act takes one out,
// and waits if there is none. Ticks come by hand first, to count exactly, and then from a weft::ticker.
#include <weft/chan.h>
#include <weft/go.h>
#include <weft/select.h>
#include <weft/time.h>
#include <weft/wait_group.h>
#include <chrono>
#include <cstdio>
#include <variant>

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace {

class token_bucket {
 public:
  explicit token_bucket(std::size_t burst) : tokens_(burst) {
    for (std::size_t i = 0; i < burst; ++i) fill();
  }
  void fill() { tokens_.try_send({}); }  // full: it runs over
  void take() { tokens_.recv(); }
  bool try_take() { return tokens_.try_recv().status == weft::chan_status::received; }

 private:
  weft::chan<std::monostate> tokens_;
};

int burst(token_bucket& bucket, int tries) {
  int allowed = 0;
  for (int i = 0; i < tries; ++i) allowed += bucket.try_take();
  return allowed;
}

void by_hand() {
  token_bucket bucket(5);
  std::printf("20 tries at once: %d allowed\n", burst(bucket, 20));
  for (int i = 0; i < 3; ++i) bucket.fill();
  std::printf("3 ticks later: %d\n", burst(bucket, 20));
  for (int i = 0; i < 100; ++i) bucket.fill();
  std::printf("after a rest of 100 ticks: %d\n", burst(bucket, 20));
}

void by_the_clock() {
  constexpr auto kPeriod = 5ms;
  constexpr int kBurst = 5, kRequests = 25;
  const auto start = steady::now();
  token_bucket bucket(kBurst);
  weft::ticker ticker(kPeriod);
  weft::chan<std::monostate> stop;
  weft::wait_group users, filler;
  filler.go([&] {
    while (weft::select(weft::on_recv(ticker.chan()), weft::on_recv(stop)) == 0) bucket.fill();
  });
  for (int i = 0; i < kRequests; ++i) users.go([&] { bucket.take(); });
  users.wait();
  const auto took = steady::now() - start;
  stop.close();
  filler.wait();
  std::printf("%d requests, %d at once and then one each 5 ms: %s\n", kRequests, kBurst,
              took >= (kRequests - kBurst) * kPeriod ? "100 ms or more" : "TOO FAST");
}

}  // namespace

int main() {
  weft::run([] {
    by_hand();
    by_the_clock();
  });
}
