// SPDX-License-Identifier: MIT
// The CPU's timer set one sleep ahead (WEFT_DEBUG=early_timers; docs/environment.md): sleeps are right with it, without it, and where
// the system refuses what it needs; the program hears nothing of it.
#include <sys/syscall.h>
#include <unistd.h>
#include <weft/weft.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <optional>
#include <random>

#include "support/cases.h"
#include "support/seccomp.h"

namespace {

using namespace weft::test;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

int count_timers() {
  int count = 0;
  for (int id = 0; id < 100; ++id) {  // their numbers begin at 0
    itimerspec value{};
    if (syscall(SYS_timer_gettime, id, &value) == 0) ++count;
  }
  return count;
}

// Many short sleeps at once. Lateness is for benchmarks: on a busy machine it may be anything.
void many_sleepers() {
  weft::wait_group group;
  for (unsigned i = 0; i < 300; ++i) {
    group.go([i] {
      std::minstd_rand random(i + 1);
      for (int n = 0; n < 10; ++n) {
        const auto time = std::chrono::microseconds(1000 + random() % 10'000);
        const Clock::time_point due = Clock::now() + time;
        weft::this_goroutine::sleep_for(time);
        WEFT_EXPECT(Clock::now() >= due);
      }
    });
  }
  group.wait();
}

void regular_ticks() {
  weft::ticker ticker(1ms);
  Clock::time_point last{};
  for (int i = 0; i < 100; ++i) {
    const std::optional<weft::time_point> tick = ticker.chan().recv();
    WEFT_EXPECT(tick && *tick > last && Clock::now() >= *tick);
    last = *tick;
  }
}

}  // namespace

// check: run WEFT_DEBUG=early_timers=on WEFT_MAXPROCS=1 --case=sleepers
// check: stdout ^timers 2$
// check: run WEFT_DEBUG=early_timers=on WEFT_MAXPROCS=4 WEFT_POLICY=global --case=sleepers
// check: stdout ^timers 2$
// check: run WEFT_DEBUG=early_timers=off WEFT_MAXPROCS=2 --case=sleepers
// check: stdout ^timers 0$
WEFT_CASE(sleepers) {
  weft::run([] { many_sleepers(); });
  std::printf("timers %d\n", count_timers());
  return 0;
}

// check: run WEFT_DEBUG=early_timers=on WEFT_MAXPROCS=2 --case=ticks
// check: stdout ^timers 2$
// check: run WEFT_DEBUG=early_timers=off WEFT_MAXPROCS=2 --case=ticks
// check: stdout ^timers 0$
WEFT_CASE(ticks) {
  weft::run([] { regular_ticks(); });
  std::printf("timers %d\n", count_timers());
  return 0;
}

// The program's own signals are its own.
// check: run WEFT_DEBUG=early_timers=on WEFT_MAXPROCS=2 --case=signals
// check: stdout ^done$
WEFT_CASE(signals) {
  static std::atomic<int> heard{0};
  struct sigaction counting{};
  counting.sa_handler = [](int) { ++heard; };
  for (const int signal : {SIGURG, SIGALRM, SIGVTALRM, SIGIO, SIGUSR1}) sigaction(signal, &counting, nullptr);
  weft::run([] {
    many_sleepers();
    regular_ticks();
  });
  WEFT_EXPECT(count_timers() == 2);
  WEFT_EXPECT(heard == 0);
  kill(getpid(), SIGURG);
  for (int i = 0; i < 1000 && heard == 0; ++i) usleep(1000);
  WEFT_EXPECT(heard == 1);
  say("done");
  return 0;
}

// check: run WEFT_DEBUG=early_timers=on WEFT_MAXPROCS=2 --case=forbidden
// check: stdout ^timers 0$
WEFT_CASE(forbidden) {
  if (!deny({{SYS_timer_create, EPERM}})) skip("no seccomp filters here");
  weft::run([] {
    many_sleepers();
    regular_ticks();
  });
  std::printf("timers %d\n", count_timers());
  return 0;
}

// check: run WEFT_DEBUG=early_timers=on WEFT_MAXPROCS=2 --case=setting_forbidden
// check: stdout ^done$
WEFT_CASE(setting_forbidden) {
  if (!deny({{SYS_timer_settime, ENOSYS}})) skip("no seccomp filters here");
  weft::run([] {
    many_sleepers();
    regular_ticks();
  });
  say("done");
  return 0;
}
