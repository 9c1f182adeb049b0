// SPDX-License-Identifier: MIT
#include "os/early_timer.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <csignal>
#include <ctime>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "os/keep_errno.h"
#include "os/thread.h"

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

void EarlyTimer::open() noexcept {
  constexpr int kSignal = SIGURG;  // ignored, should it ever be delivered
  never_hear_of(kSignal);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kSignal;
  event._sigev_un._tid = gettid();
  // Raw system calls, because an old C library has these functions in another library.
  if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timers_[0].id) != 0) return;
  if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timers_[1].id) != 0) {
    syscall(SYS_timer_delete, timers_[0].id);
    return;
  }
  busy_.store_release(false);  // pairs: early_timer.busy
}

std::int64_t EarlyTimer::set(std::int64_t at_ns, std::int64_t then_ns) noexcept {
  constexpr std::int64_t kCloseNs = 4'000;  // times closer than this count as the same
  const KeepErrno keep;
  if (busy_.exchange_acquire(true)) return at_ns;  // pairs: early_timer.busy
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

bool EarlyTimer::arm(Kept& timer, std::int64_t at_ns) noexcept {
  constexpr std::int64_t kSecond = 1'000'000'000;
  timer.at_ns = at_ns;
  const itimerspec when{.it_interval = {}, .it_value = {.tv_sec = at_ns / kSecond, .tv_nsec = at_ns % kSecond}};
  return syscall(SYS_timer_settime, timer.id, TIMER_ABSTIME, &when, nullptr) == 0;
}

}  // namespace weft::os
