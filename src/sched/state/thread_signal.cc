// SPDX-License-Identifier: MIT
#include "sched/state/thread_signal.h"

#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>

#include "sched/state/scheduler.h"

namespace weft::sched {

int send_preempt_signal(int signal, std::int32_t thread) noexcept {
  siginfo_t info{};
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_value.sival_ptr = &scheduler;
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, signal, &info) == 0) return 0;
  return syscall(SYS_tgkill, getpid(), thread, signal) == 0 ? 0 : errno;  // it was refused, or too many are queued
}

bool is_preempt_signal(const siginfo_t& info) noexcept {
  const bool is_own = (info.si_code == SI_QUEUE && info.si_pid == getpid()) || info.si_code == SI_TIMER;
  return is_own && info.si_value.sival_ptr == &scheduler;
}

}  // namespace weft::sched
