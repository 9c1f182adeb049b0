// SPDX-License-Identifier: MIT
#include "os/self_signal.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <ctime>

#include "os/thread.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace weft::os {
namespace {

int make_timer(int signal, void* value) noexcept {
  struct sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal;
  event.sigev_value.sival_ptr = value;
  event.sigev_notify_thread_id = thread_id();
  int timer = kNoTimer;  // the kernel's numbers are ints, timer_t is the C library's
  return syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) == 0 ? timer : kNoTimer;
}

}  // namespace

int signal_self_after(std::int64_t delay_ns, int timer, int signal, void* value) noexcept {
  if (timer == kNoTimer) timer = make_timer(signal, value);
  if (timer == kNoTimer) return kNoTimer;
  itimerspec once{};
  once.it_value.tv_sec = delay_ns / 1'000'000'000;
  once.it_value.tv_nsec = delay_ns % 1'000'000'000;
  syscall(SYS_timer_settime, timer, 0, &once, nullptr);
  return timer;
}

void delete_timer(int timer) noexcept {
  if (timer != kNoTimer) syscall(SYS_timer_delete, timer);
}

}  // namespace weft::os
