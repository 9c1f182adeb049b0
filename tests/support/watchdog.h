// SPDX-License-Identifier: MIT
#pragma once
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// Ends a test that hangs, with a dump of all goroutines. A POSIX timer and not a thread: a thread outside the runtime
// would keep the deadlock report silent.
namespace weft::test {

class Watchdog {
 public:
  explicit Watchdog(int seconds) {
    struct sigaction action {};
    action.sa_handler = &Watchdog::on_expiry;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    sigaction(SIGUSR2, &action, nullptr);
    expiries_ = 0;
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR2;
    armed_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
    itimerspec when{};
    when.it_value.tv_sec = seconds;
    when.it_interval.tv_sec = 10;
    if (armed_) timer_settime(timer_, 0, &when, nullptr);
  }
  ~Watchdog() {
    if (armed_) timer_delete(timer_);
  }
  Watchdog(const Watchdog&) = delete;

 private:
  // First the runtime's own dump (SIGQUIT: exit status 2); a runtime too broken for that is aborted 10 s later.
  static void on_expiry(int) {
    static constexpr char kText[] = "watchdog: the test takes too long; its goroutines:\n";
    if (write(STDERR_FILENO, kText, sizeof kText - 1) < 0) _exit(3);
    expiries_ = expiries_ + 1;
    if (expiries_ > 1) {
      signal(SIGABRT, SIG_DFL);
      kill(getpid(), SIGABRT);
    }
    kill(getpid(), SIGQUIT);
  }
  static inline volatile sig_atomic_t expiries_ = 0;
  timer_t timer_{};
  bool armed_ = false;
};

}  // namespace weft::test
