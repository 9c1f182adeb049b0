// SPDX-License-Identifier: MIT
#include "os/early_timer.h"

#include <sched.h>
#include <sys/timerfd.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "os/keep_errno.h"
#include "os/standard_streams.h"

namespace weft::os {

bool EarlyTimer::pays() noexcept {
#if defined(__x86_64__)
  constexpr unsigned kUnderHypervisor = 1u << 31;
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kUnderHypervisor) != 0;
#else
  return false;
#endif
}

std::int64_t EarlyTimer::set(std::int64_t at_ns, std::int64_t then_ns) noexcept {
  constexpr std::int64_t kCloseNs = 4'000;  // the wish has moved by so little that it is the same
  const KeepErrno keep;
  if (busy_.exchange_acquire(true)) return at_ns;  // pairs: early_timer.busy
  if (timers_[0].fd < 0 && !open()) return at_ns;
  if (const int cpu = sched_getcpu(); cpu != cpu_) {
    cpu_ = cpu;
    timers_[0].at_ns = timers_[1].at_ns = 0;
  }
  const auto is_close = [&](const Kept& timer) {
    return timer.at_ns > at_ns - kCloseNs && timer.at_ns < at_ns + kCloseNs;
  };
  const bool second = is_close(timers_[1]);
  Kept& now = timers_[second ? 1 : 0];
  Kept& next = timers_[second ? 0 : 1];
  bool usable = true;
  if (is_close(now)) {
    at_ns = now.at_ns;
  } else {
    usable = arm(now, at_ns);
  }
  if (usable && arm(next, then_ns)) busy_.store_release(false);  // pairs: early_timer.busy
  return at_ns;
}

bool EarlyTimer::open() noexcept {
  for (Kept& timer : timers_)
    timer.fd = keep_off_standard_streams(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (timers_[0].fd >= 0 && timers_[1].fd >= 0) return true;
  for (const Kept& timer : timers_)
    if (timer.fd >= 0) close(timer.fd);
  return false;
}

bool EarlyTimer::arm(Kept& timer, std::int64_t at_ns) noexcept {
  constexpr std::int64_t kSecond = 1'000'000'000;
  timer.at_ns = at_ns;
  const itimerspec when{.it_interval = {}, .it_value = {.tv_sec = at_ns / kSecond, .tv_nsec = at_ns % kSecond}};
  return timerfd_settime(timer.fd, TFD_TIMER_ABSTIME, &when, nullptr) == 0;
}

}  // namespace weft::os
