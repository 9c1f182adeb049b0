// SPDX-License-Identifier: MIT
// The signal that interrupts goroutines without checks, where the program uses signals of its own (F11).
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>

#include <atomic>
#include <string>

#include "support/cases.h"
#include "support/seccomp.h"
#include "support/waiting.h"

// check: not-in aarch64
namespace {

using namespace weft::test;

std::atomic<int> handled{0};

void handle(int signal) {
  struct sigaction action{};
  action.sa_handler = [](int) { ++handled; };
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  WEFT_EXPECT(sigaction(signal, &action, nullptr) == 0);
}

bool is_handled_by_us(int signal) {
  struct sigaction present{};
  WEFT_EXPECT(sigaction(signal, nullptr, &present) == 0);
  return (present.sa_flags & SA_SIGINFO) != 0;
}

// On one P: can anybody run beside a goroutine that computes without a check?
bool hog_gives_way(std::chrono::seconds within = 5s) {
  return weft::run([within] {
    std::atomic<bool> started{false}, stop{false};
    auto hog = weft::spawn([&] {
      started = true;
      const auto end = Clock::now() + within;
      while (!stop.load(std::memory_order_relaxed) && Clock::now() < end) {
      }
      return stop.load();
    });
    while (!started) weft::this_goroutine::yield();  // with one P back only when the hog gives way, or has ended
    stop = true;
    return hog.join();
  });
}

// What works without the signal: everything that reaches the scheduler by itself.
void work() {
  weft::run([] {
    std::atomic<long> sum{0};
    weft::wait_group group;
    for (int i = 0; i < 20; ++i)
      group.go([&] {
        for (int round = 0; round < 100; ++round) {
          ++sum;
          if (round % 10 == 0) weft::this_goroutine::sleep_for(50us);
          weft::preempt_point();
        }
      });
    group.wait();
    WEFT_EXPECT(sum == 2000);
  });
}

}  // namespace

// check: run WEFT_MAXPROCS=1 WEFT_PREEMPT_SIGNAL=23 WEFT_SLICE=1 --case=may_be_chosen
// check: stdout ^gave way by 23$
// check: not-stderr .
WEFT_CASE(may_be_chosen) {
  WEFT_EXPECT(hog_gives_way());
  WEFT_EXPECT(is_handled_by_us(SIGURG));
  say(("gave way by " + std::to_string(SIGURG)).c_str());
  return 0;
}

// check: run WEFT_MAXPROCS=1 WEFT_SLICE=1 --case=is_never_one_that_the_program_has
// check: stdout ^gave way$
// check: not-stderr .
WEFT_CASE(is_never_one_that_the_program_has) {
  handle(SIGRTMAX - 1);
  handle(SIGRTMAX - 2);
  handle(SIGURG);
  WEFT_EXPECT(hog_gives_way());
  WEFT_EXPECT(is_handled_by_us(SIGRTMAX - 3));
  WEFT_EXPECT(handled == 0);
  raise(SIGRTMAX - 1);  // still the program's
  raise(SIGURG);
  WEFT_EXPECT(handled == 2);
  say("gave way");
  return 0;
}

// Without the call that marks a signal as weft's, plain ones are sent.
// check: run WEFT_MAXPROCS=1 WEFT_SLICE=1 --case=goes_without_a_mark
// check: stdout ^gave way$
// check: not-stderr .
WEFT_CASE(goes_without_a_mark) {
  if (!weft::test::deny({{SYS_rt_tgsigqueueinfo, EPERM}})) {
    say("no filters of system calls here");
    return 77;
  }
  WEFT_EXPECT(hog_gives_way());
  WEFT_EXPECT(weft::runtime::read_stats().exiles > 0);
  say("gave way");
  return 0;
}

// Both have their handler: what weft does not send is the program's.
// check: run WEFT_MAXPROCS=1 WEFT_PREEMPT_SIGNAL=23 WEFT_SLICE=1 --case=in_use_is_shared
// check: stdout ^shared$
// check: first-stderr weft: signal 23 \(WEFT_PREEMPT_SIGNAL\) is in use: its handler is called .*
// check: not-stderr (?s)\n.
WEFT_CASE(in_use_is_shared) {
  handle(SIGURG);
  WEFT_EXPECT(hog_gives_way());
  WEFT_EXPECT(is_handled_by_us(SIGURG));
  WEFT_EXPECT(handled == 0);
  raise(SIGURG);
  weft::run([] {
    weft::spawn([] { pthread_kill(pthread_self(), SIGURG); }).join();
    kill(getpid(), SIGURG);
    while (handled < 3) weft::this_goroutine::sleep_for(1ms);
  });
  WEFT_EXPECT(handled == 3);
  say("shared");
  return 0;
}

// The same for a handler that wants to know more.
// check: run WEFT_MAXPROCS=1 WEFT_PREEMPT_SIGNAL=23 WEFT_SLICE=1 --case=in_use_is_shared_with_its_information
// check: stdout ^shared$
// check: first-stderr weft: signal 23 \(WEFT_PREEMPT_SIGNAL\) is in use: its handler is called .*
// check: not-stderr (?s)\n.
WEFT_CASE(in_use_is_shared_with_its_information) {
  static std::atomic<int> last{0};
  struct sigaction action{};
  action.sa_sigaction = [](int, siginfo_t* info, void*) { last = info->si_value.sival_int; };
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  WEFT_EXPECT(sigaction(SIGURG, &action, nullptr) == 0);
  WEFT_EXPECT(hog_gives_way());
  WEFT_EXPECT(last == 0);
  sigval value{};
  value.sival_int = 42;
  WEFT_EXPECT(pthread_sigqueue(pthread_self(), SIGURG, value) == 0);
  WEFT_EXPECT(last == 42);
  say("shared");
  return 0;
}

// check: run WEFT_MAXPROCS=2 WEFT_PREEMPT_SIGNAL=9 --case=impossible_is_said_and_cooperation_works
// check: first-stderr weft: no signal to interrupt code .*WEFT_PREEMPT_SIGNAL cannot be handled.*choose a free one with WEFT_PREEMPT_SIGNAL
// check: not-stderr (?s)\n.
// check: stdout ^worked$
WEFT_CASE(impossible_is_said_and_cooperation_works) {
  work();
  say("worked");
  return 0;
}

// check: run --case=all_in_use_is_said_and_cooperation_works
// check: first-stderr weft: no signal to interrupt code .*all real-time signals are in use.*
// check: stdout ^worked$
WEFT_CASE(all_in_use_is_said_and_cooperation_works) {
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) handle(signal);
  work();
  WEFT_EXPECT(handled == 0);
  say("worked");
  return 0;
}

// A filter that forbids signals is noticed when the first one is needed, and said then.
// check: run WEFT_MAXPROCS=1 WEFT_SLICE=1 --case=refused_is_said_at_the_first_use
// check: first-stderr started
// check: stderr ^weft: no signal to interrupt code .*the system refuses to send signal \d+: Operation not permitted\): goroutines .* keep their P$
// check: not-stderr (?s)(weft: .*){2}
// check: stdout ^worked$
WEFT_CASE(refused_is_said_at_the_first_use) {
  if (!weft::test::deny({{SYS_rt_tgsigqueueinfo, EPERM}, {SYS_tgkill, EPERM}})) {
    say("no filters of system calls here");
    return 77;
  }
  weft::run([] {});
  std::fputs("started\n", stderr);
  WEFT_EXPECT(!hog_gives_way(2s));
  WEFT_EXPECT(!hog_gives_way(1s));
  work();
  say("worked");
  return 0;
}

// A debugger stops at each signal: the start needs none.
// check: run WEFT_MAXPROCS=2 WEFT_SLICE=1000 --case=none_is_sent_at_start
// check: stdout ^0 signals$
// check: not-in asan tsan
WEFT_CASE(none_is_sent_at_start) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(77);
    raise(SIGSTOP);
    weft::run([] { weft::spawn([] { weft::this_goroutine::sleep_for(10ms); }).join(); });
    _exit(0);
  }
  int status = 0, signals = 0;
  WEFT_EXPECT(waitpid(child, &status, 0) == child);
  if (WIFEXITED(status)) skip("no tracing of processes here");
  WEFT_EXPECT(ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL) == 0);
  WEFT_EXPECT(ptrace(PTRACE_CONT, child, nullptr, nullptr) == 0);
  for (pid_t thread; (thread = waitpid(-1, &status, __WALL)) > 0;) {
    if (!WIFSTOPPED(status)) {
      if (thread == child) break;
      continue;
    }
    const int signal = WSTOPSIG(status);
    const bool of_tracing = signal == SIGSTOP || signal == SIGTRAP;  // a new thread, its parent
    if (!of_tracing) ++signals;
    ptrace(PTRACE_CONT, thread, nullptr, of_tracing ? 0 : signal);
  }
  WEFT_EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  say((std::to_string(signals) + " signals").c_str());
  return 0;
}

// Sent by somebody else, it interrupts nothing and ends nothing.
// check: run WEFT_MAXPROCS=2 WEFT_PREEMPT_SIGNAL=23 --case=from_others_is_ignored
// check: stdout ^worked$
// check: not-stderr .
WEFT_CASE(from_others_is_ignored) {
  const pid_t parent = getpid();
  weft::run([] {});
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 200; ++i) {
      kill(parent, SIGURG);
      usleep(100);
    }
    _exit(0);
  }
  for (int i = 0; i < 5; ++i) work();
  say("worked");
  return 0;
}
