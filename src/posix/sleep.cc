// SPDX-License-Identifier: MIT
// Sleeping: the goroutine parks on a timer. No signal interrupts it, so the whole time has passed at its end.
#include <algorithm>

#include "os/clock.h"
#include "os/futex.h"
#include "posix/goroutine_call.h"
#include "sched/wait/sleep.h"

namespace weft::posix {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000, kMostSeconds = INT64_MAX / kSecond - 1;

bool is_time(const timespec* time) noexcept {
  return time != nullptr && time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < kSecond;
}
// Up to the year 2262, which is as far as a clock of 64 bits counts nanoseconds.
std::int64_t ns_of(const timespec& time) noexcept {
  return std::min<std::int64_t>(time.tv_sec, kMostSeconds) * kSecond + time.tv_nsec;
}

// Until the clock, which may be set meanwhile, shows the time. A sleep of at most a second, then another look.
void sleep_until_shown(clockid_t clock, std::int64_t time_ns) noexcept {
  for (;;) {
    timespec now{};
    clock_gettime(clock, &now);
    const std::int64_t left = time_ns - ns_of(now);
    if (left <= 0) return;
    sched::sleep_for(std::min(left, kSecond));
  }
}

bool is_known(clockid_t clock) noexcept {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME || clock == CLOCK_TAI;
}

}  // namespace
}  // namespace weft::posix

using namespace weft;
using namespace weft::posix;

WEFT_POSIX int nanosleep(const timespec* time, timespec* left) {
  if (WEFT_POSIX_PLAIN || !is_time(time) || !api::may_wait_here()) return real().nanosleep(time, left);
  sched::sleep_for(ns_of(*time));
  return 0;
}

WEFT_POSIX int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  if (WEFT_POSIX_PLAIN || !is_time(time) || !is_known(clock) || (flags & ~TIMER_ABSTIME) != 0 || !api::may_wait_here())
    return real().clock_nanosleep(clock, flags, time, left);
  if ((flags & TIMER_ABSTIME) == 0) {
    sched::sleep_for(ns_of(*time));
  } else if (clock == CLOCK_MONOTONIC) {
    sched::sleep_until(ns_of(*time));
  } else {
    sleep_until_shown(clock, ns_of(*time));
  }
  return 0;
}

WEFT_POSIX int usleep(useconds_t us) {
  if (WEFT_POSIX_PLAIN || !api::may_wait_here()) return real().usleep(us);
  sched::sleep_for(us * 1000ll);
  return 0;
}

WEFT_POSIX unsigned sleep(unsigned seconds) {
  if (WEFT_POSIX_PLAIN || !api::may_wait_here()) return real().sleep(seconds);
  sched::sleep_for(seconds * kSecond);
  return 0;
}
