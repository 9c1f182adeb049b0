// SPDX-License-Identifier: MIT
#include "os/cpu_timer.h"

#include <sys/syscall.h>
#include <unistd.h>
#include <csignal>
#include <ctime>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace weft::os {

int start_cpu_timer(pid_t thread, std::int64_t period_ns, int signal, void* value) noexcept {
  struct sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal;
  event.sigev_value.sival_ptr = value;
  event.sigev_notify_thread_id = thread;
  constexpr unsigned kSchedulerTimeOfThread = 6;  // the kernel's CPUCLOCK_SCHED | CPUCLOCK_PERTHREAD_MASK
  const auto clock = static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | kSchedulerTimeOfThread);
  int timer = kNoTimer;
  if (syscall(SYS_timer_create, clock, &event, &timer) != 0) return kNoTimer;
  itimerspec every{};
  every.it_value.tv_sec = every.it_interval.tv_sec = period_ns / 1'000'000'000;
  every.it_value.tv_nsec = every.it_interval.tv_nsec = period_ns % 1'000'000'000;
  if (syscall(SYS_timer_settime, timer, 0, &every, nullptr) == 0) return timer;
  delete_timer(timer);
  return kNoTimer;
}

}  // namespace weft::os
