// SPDX-License-Identifier: MIT
#include "api/sample_signal.h"

#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>

#include "os/keep_errno.h"
#include "profile/cpu_profiler.h"
#include "sched/tracing/trace_points.h"
#include "weft/error.h"

namespace weft::api {
namespace {

void on_sample(int, siginfo_t* info, void* context) {
  const os::KeepErrno keep;
  if (info->si_code == SI_TIMER && info->si_value.sival_ptr == profile::cpu_timer_mark()) {
    profile::take_cpu_sample(context, info->si_overrun);
  } else {
    sched::trace_cpu_sample(context);
  }
}

}  // namespace

int sample_signal() noexcept { return SIGPROF; }

void handle_sample_signal(const char* what) {
  struct sigaction action{}, present{};
  sigaction(SIGPROF, nullptr, &present);
  if ((present.sa_flags & SA_SIGINFO) != 0 && present.sa_sigaction == on_sample) return;
  if ((present.sa_flags & SA_SIGINFO) != 0 || present.sa_handler != SIG_DFL)
    throw logic_error(std::string("weft: ") + what +
                      ": the program handles SIGPROF itself; only one of the two can have it");
  action.sa_sigaction = on_sample;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGPROF, &action, nullptr) != 0)
    throw std::system_error(errno, std::generic_category(), std::string("weft: ") + what + ": cannot handle SIGPROF");
}

}  // namespace weft::api
