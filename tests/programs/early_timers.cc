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
#include <thread>

#include "support/cases.h"
#include "support/seccomp.h"

namespace {

using namespace weft::test;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Of this process; their numbers begin at 0. How many there are, and how many of them are set at the moment.
struct Timers {
  int all = 0, set = 0;
};
Timers look_at_timers() {
  Timers found;
  for (int id = 0; id < 100; ++id) {
    itimerspec value{};
    if (syscall(SYS_timer_gettime, id, &value) != 0) continue;
    ++found.all;
    if (value.it_value.tv_sec != 0 || value.it_value.tv_nsec != 0) ++found.set;
  }
  return found;
}

// Runs f as a goroutine, and says what timers there are and at how many of the looks at them one was set: once in a while is chance.
void watch_timers_during(void (*f)()) {
  std::atomic<bool> ended{false};
  int looks = 0, seen_set = 0;
  std::thread watcher([&] {
    for (; !ended; ++looks) {
      if (look_at_timers().set > 0) ++seen_set;
      usleep(50);
    }
  });
  weft::run(f);
  ended = true;
  watcher.join();
  std::printf("%d of %d looks\n", seen_set, looks);
  std::printf("timers %d, %s\n", look_at_timers().all,
              seen_set == 0          ? "never set"
              : 4 * seen_set < looks ? "seldom set"
                                     : "set");
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
// check: stdout ^timers 2, set$
// check: run WEFT_DEBUG=early_timers=on WEFT_MAXPROCS=4 WEFT_POLICY=global --case=sleepers
// check: stdout ^timers 2, set$
// check: run WEFT_DEBUG=early_timers=off WEFT_MAXPROCS=2 --case=sleepers
// check: stdout ^timers 0, never set$
WEFT_CASE(sleepers) {
  watch_timers_during(many_sleepers);
  return 0;
}

// check: run WEFT_DEBUG=early_timers=on WEFT_MAXPROCS=2 --case=ticks
// check: stdout ^timers 2, set$
// check: run WEFT_DEBUG=early_timers=off WEFT_MAXPROCS=2 --case=ticks
// check: stdout ^timers 0, never set$
WEFT_CASE(ticks) {
  watch_timers_during(regular_ticks);
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
  WEFT_EXPECT(look_at_timers().all == 2);
  WEFT_EXPECT(heard == 0);
  kill(getpid(), SIGURG);
  for (int i = 0; i < 1000 && heard == 0; ++i) usleep(1000);
  WEFT_EXPECT(heard == 1);
  say("done");
  return 0;
}

// check: run WEFT_DEBUG=early_timers=on WEFT_MAXPROCS=2 --case=making_forbidden
// check: stdout ^timers 0, never set$
WEFT_CASE(making_forbidden) {
  if (!deny({{SYS_timer_create, EPERM}})) skip("no seccomp filters here");
  watch_timers_during(many_sleepers);
  return 0;
}

// check: run WEFT_DEBUG=early_timers=on WEFT_MAXPROCS=2 --case=setting_forbidden
// check: stdout ^timers 2, never set$
WEFT_CASE(setting_forbidden) {
  if (!deny({{SYS_timer_settime, ENOSYS}})) skip("no seccomp filters here");
  watch_timers_during(regular_ticks);
  return 0;
}
