// SPDX-License-Identifier: MIT
#include "service/preempt_signal.h"

#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "arch/restart_call.h"
#include "base/check.h"
#include "os/backtrace.h"
#include "os/common_lock_code.h"
#include "os/linker_code.h"
#include "os/thread.h"
#include "os/unwind_lock.h"
#include "os/unwinder_code.h"
#include "sched/core/preempt.h"
#include "sched/frames/unwinding.h"
#include "sched/observe/standstill.h"
#include "sched/state/thread_signal.h"

namespace weft::service {
namespace {

struct sigaction previous{};  // the program's handler, if it chose a signal that it uses itself
bool is_shared = false;

// The signal is not weft's: it goes to the program's handler, if there is one.
void pass_on(int signal, siginfo_t* info, void* context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  }
}

void restart_call(void* context) {
  const sched::Unwinding unwinding;
  arch::restart_interrupted_call(context, unwinding.allowed() && os::may_unwind_in_handler(os::thread_id()));
}

void on_signal(int signal, siginfo_t* info, void* context) {
  // If the system refuses a signal with a mark, weft sends one without (thread_signal.cc). So an unmarked signal from a
  // thread of this process is weft's, if the program does not use the same signal.
  const bool unmarked = !is_shared && info->si_code == SI_TKILL && info->si_pid == getpid();
  if (!unmarked && !sched::is_preempt_signal(*info)) return pass_on(signal, info, context);
  restart_call(context);  // also where the signal comes too late: in a blocking call
  sched::stand_still_if_asked(context);
  sched::on_preempt_signal(context);
}

bool is_free(int signal) {
  struct sigaction present{};
  if (sigaction(signal, nullptr, &present) != 0) return false;
  return (present.sa_flags & SA_SIGINFO) == 0 && present.sa_handler == SIG_DFL;
}

// Emulators let a program handle signals that they cannot send. Sending one would stop a debugger, so this creates a
// timer: the kernel checks the signal of a timer when it is created.
// Any error but EINVAL says nothing about the signal.
bool can_be_sent(int signal) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = signal;
  int timer = 0;  // the kernel's timer_t
  if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0) return errno != EINVAL;
  syscall(SYS_timer_delete, timer);
  return true;
}

bool take(int signal) {
  struct sigaction present{};
  if (sigaction(signal, nullptr, &present) != 0) return false;
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  if (present.sa_sigaction != on_signal) {
    is_shared = !is_free(signal) && present.sa_handler != SIG_IGN;
    previous = present;
    action.sa_mask = previous.sa_mask;
    action.sa_flags |= previous.sa_flags & SA_NODEFER;
  }
  if (sigaction(signal, &action, nullptr) != 0) return false;
  if (is_shared || can_be_sent(signal)) return true;
  sigaction(signal, &present, nullptr);
  return false;
}

int choose() {
  for (int signal = SIGRTMAX - 1; signal >= SIGRTMIN; --signal)
    if (is_free(signal) && take(signal)) return signal;
  return 0;
}

void say_that_it_is_shared(int signal) {
  char text[160];
  const int length = std::snprintf(
      text, sizeof text,
      "weft: signal %d (WEFT_PREEMPT_SIGNAL) is in use: its handler is called for those that weft has not sent\n",
      signal);
  base::write_stderr(text, static_cast<std::size_t>(length));
}

void say_that_there_is_none(const char* reason, const char* advice) {
  char text[256];
  const int length =
      std::snprintf(text, sizeof text,
                    "weft: no signal to interrupt code that has no preemption checks (%s): goroutines in "
                    "such code keep their P%s\n",
                    reason, advice);
  base::write_stderr(text, static_cast<std::size_t>(length));
}

}  // namespace

int install_preempt_signal(int wanted) {
  const int signal = wanted == 0 ? choose() : take(wanted) ? wanted : 0;
  if (signal == 0) {
    say_that_there_is_none(wanted != 0 ? "the one of WEFT_PREEMPT_SIGNAL cannot be handled, or not be sent"
                                       : "all real-time signals are in use, or cannot be sent",
                           "; choose a free one with WEFT_PREEMPT_SIGNAL");
    return 0;
  }
  if (is_shared) say_that_it_is_shared(signal);
  os::warm_up_unwinder();
  os::find_unwind_lock();
  os::find_unwinder_code();
  os::find_linker_code();
  os::find_common_lock_code();
  return signal;
}

void say_that_signal_is_refused(int signal, int error) {
  char reason[96];
  std::snprintf(reason, sizeof reason, "the system refuses to send signal %d: %s", signal, std::strerror(error));
  say_that_there_is_none(reason, "");
}

void allow_preempt_signal() {
  const int signal = sched::scheduler.preempt_signal.load_relaxed();
  if (signal == 0) return;
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, signal);
  pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
}

}  // namespace weft::service
