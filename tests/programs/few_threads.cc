// SPDX-License-Identifier: MIT
// At the thread limit, goroutines that loop over blocking calls share the threads with all others: sleepers, runnable
// goroutines, channels.
// Arguments: parked goroutines with locked threads, microseconds of a call, goroutines that loop.
// check: run WEFT_MAX_THREADS=4 WEFT_MAXPROCS=4 0 100 4
// check: stdout ^ok
// check: run WEFT_MAX_THREADS=4 WEFT_MAXPROCS=4 0 2000 4
// check: stdout ^ok
// check: run WEFT_MAX_THREADS=4 WEFT_MAXPROCS=4 0 100 9
// check: stdout ^ok
// check: run WEFT_MAX_THREADS=4 WEFT_MAXPROCS=2 3 100 1
// check: stdout ^ok
// check: run WEFT_MAX_THREADS=4 WEFT_MAXPROCS=2 2 300 2
// check: stdout ^ok
// check: run WEFT_MAX_THREADS=4 WEFT_MAXPROCS=1 3 100 3
// check: stdout ^ok
// check: run WEFT_MAX_THREADS=4 WEFT_MAXPROCS=8 0 300 5
// check: stdout ^ok
// check: run WEFT_MAX_THREADS=4 WEFT_MAXPROCS=4 WEFT_POLICY=global 0 100 4
// check: stdout ^ok
#include <unistd.h>
#include <weft/weft.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto kLimit = 8s;

void park_with_locked_thread(weft::chan<int> never) {
  weft::chan<int> ready;
  weft::go([never, ready]() mutable {
    weft::lock_os_thread();
    ready.send(1);
    never.recv();
  });
  ready.recv();
}

int run(int locked, unsigned call_us, int loops) {
  weft::chan<int> never;
  for (int i = 0; i < locked; ++i) park_with_locked_thread(never);
  std::atomic<bool> stop{false};
  std::atomic<long> calls{0}, rounds{0};
  weft::wait_group loopers, others;
  for (int i = 0; i < loops; ++i)
    loopers.go([&] {
      const auto end = Clock::now() + kLimit;
      while (!stop) {
        weft::blocking([&] { usleep(call_us); });
        ++calls;
        if (Clock::now() < end) continue;
        std::printf("starved: %ld calls, but the others got no further than %ld rounds\n", calls.load(), rounds.load());
        std::fflush(stdout);
        _exit(1);
      }
    });
  // A pair that talks, and a sleeper.
  weft::chan<int> ping;
  others.go([&] {
    for (int i = 0; i < 20; ++i) ping.send(i);
  });
  others.go([&] {
    for (int i = 0; i < 20; ++i) {
      ping.recv();
      ++rounds;
    }
  });
  for (int i = 0; i < 5; ++i) {
    weft::this_goroutine::sleep_for(5ms);
    ++rounds;
  }
  others.wait();
  stop = true;
  loopers.wait();
  std::printf("ok: %ld rounds beside %ld calls\n", rounds.load(), calls.load());
  std::fflush(stdout);
  _exit(0);  // those that are locked wait for ever
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return weft::run([&] {
    return run(std::atoi(argv[1]), static_cast<unsigned>(std::atoi(argv[2])), std::atoi(argv[3]));
  });
}
