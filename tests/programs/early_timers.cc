// SPDX-License-Identifier: MIT
// The CPU's timer set one sleep ahead (WEFT_DEBUG=early_timers; docs/environment.md): sleeps are right with it, without it, and where
// the system or the program takes away what it needs.
#include <sys/syscall.h>
#include <weft/weft.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "support/cases.h"
#include "support/process.h"
#include "support/seccomp.h"

namespace {

using namespace weft::test;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::vector<int> timer_descriptors() {
  std::vector<int> found;
  for (int fd = 3; fd < 1000; ++fd) {
    char target[64] = {};
    if (readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target - 1) > 0 &&
        std::string(target) == "anon_inode:[timerfd]")
      found.push_back(fd);
  }
  return found;
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
  std::printf("timers %zu\n", timer_descriptors().size());
  return 0;
}

// check: run WEFT_DEBUG=early_timers=on WEFT_MAXPROCS=2 --case=ticks
// check: stdout ^timers 2$
// check: run WEFT_DEBUG=early_timers=off WEFT_MAXPROCS=2 --case=ticks
// check: stdout ^timers 0$
WEFT_CASE(ticks) {
  weft::run([] { regular_ticks(); });
  std::printf("timers %zu\n", timer_descriptors().size());
  return 0;
}

// A program that closes what it does not know, as daemons do.
// check: run WEFT_DEBUG=early_timers=on WEFT_MAXPROCS=2 --case=closed
// check: stdout ^timers 0$
WEFT_CASE(closed) {
  weft::run([] {
    many_sleepers();
    WEFT_EXPECT(timer_descriptors().size() == 2);
    for (const int fd : timer_descriptors()) close(fd);
    many_sleepers();
    regular_ticks();
  });
  std::printf("timers %zu\n", timer_descriptors().size());
  return 0;
}

// check: run WEFT_DEBUG=early_timers=on WEFT_MAXPROCS=2 --case=forbidden
// check: stdout ^timers 0$
WEFT_CASE(forbidden) {
  if (!deny({{SYS_timerfd_create, EPERM}})) skip("no seccomp filters here");
  weft::run([] {
    many_sleepers();
    regular_ticks();
  });
  std::printf("timers %zu\n", timer_descriptors().size());
  return 0;
}

// check: run WEFT_DEBUG=early_timers=on WEFT_MAXPROCS=2 --case=setting_forbidden
// check: stdout ^done$
WEFT_CASE(setting_forbidden) {
  if (!deny({{SYS_timerfd_settime, ENOSYS}})) skip("no seccomp filters here");
  weft::run([] {
    many_sleepers();
    regular_ticks();
  });
  say("done");
  return 0;
}
