// SPDX-License-Identifier: MIT
// test-timeout: 180
// Signals, stops and frozen threads while goroutines run (F01-F03, F10).
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <weft/weft.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "support/cases.h"
#include "support/workload.h"

namespace {

using namespace weft::test;

std::atomic<long> handled{0};

void install(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  WEFT_EXPECT(sigaction(signal, &action, nullptr) == 0);
}

void count_signal(int) {
  const int saved = errno;
  ++handled;
  errno = saved;
}

// Uses more stack than a small goroutine has.
void use_much_stack(int) {
  volatile char space[40 * 1024];
  for (std::size_t i = 0; i < sizeof space; i += 512) space[i] = 1;
  ++handled;
}

std::vector<pid_t> all_threads() {
  std::vector<pid_t> threads;
  DIR* const directory = opendir("/proc/self/task");
  while (const dirent* entry = readdir(directory))
    if (entry->d_name[0] != '.') threads.push_back(std::atoi(entry->d_name));
  closedir(directory);
  return threads;
}

void work_for(Clock::duration duration) {
  const Stopwatch watch;
  do WEFT_EXPECT(mixed_workload());
  while (watch.elapsed() < duration);
}

}  // namespace

// check: run WEFT_MAXPROCS=2 --case=handlers_run_on_their_own_stack
// check: stdout ^handled [1-9]
WEFT_CASE(handlers_run_on_their_own_stack) {
  install(SIGUSR1, use_much_stack, SA_ONSTACK | SA_RESTART);
  weft::run([] {
    weft::wait_group group;
    for (int i = 0; i < 20; ++i) {
      group.add(1);
      weft::go(weft::go_options{.stack_size = 16 * 1024}, [&] {
        for (int round = 0; round < 20; ++round) {
          raise(SIGUSR1);  // this very thread, on this small stack
          weft::this_goroutine::yield();
        }
        group.done();
      });
    }
    group.wait();
  });
  WEFT_EXPECT(handled == 400);
  std::printf("handled %ld\n", handled.load());
  return 0;
}

// check: run WEFT_MAXPROCS=2 --case=profiling_signals
// check: stdout ^done$
// check: run WEFT_MAXPROCS=4 WEFT_POLICY=global --case=profiling_signals
// check: stdout ^done$
WEFT_CASE(profiling_signals) {
  install(SIGPROF, count_signal, SA_ONSTACK | SA_RESTART);
  itimerval every{};
  every.it_interval.tv_usec = every.it_value.tv_usec = 1000;
  WEFT_EXPECT(setitimer(ITIMER_PROF, &every, nullptr) == 0);
  weft::run([] {
    work_for(300ms);
    compute_for(50ms);
  });
  WEFT_EXPECT(handled > 0);
  say("done");
  return 0;
}

// check: run WEFT_MAXPROCS=2 --case=interrupting_signals
// check: stdout ^done$
// check: run WEFT_MAXPROCS=1 WEFT_POLICY=global --case=interrupting_signals
// check: stdout ^done$
WEFT_CASE(interrupting_signals) {
  // Without SA_RESTART: waits of the runtime return early, and must not be taken for more than that.
  install(SIGALRM, count_signal, SA_ONSTACK);
  itimerval every{};
  every.it_interval.tv_usec = every.it_value.tv_usec = 200;
  WEFT_EXPECT(setitimer(ITIMER_REAL, &every, nullptr) == 0);
  weft::run([] {
    const Stopwatch watch;
    work_for(300ms);
    for (int i = 0; i < 20; ++i) {
      const Stopwatch sleep;
      weft::this_goroutine::sleep_for(5ms);
      WEFT_EXPECT(sleep.elapsed() >= 5ms);
      weft::event never;
      const Stopwatch wait;
      WEFT_EXPECT(!never.wait_for(2ms));
      WEFT_EXPECT(wait.elapsed() >= 2ms);
    }
  });
  // Plain threads likewise.
  const Stopwatch sleep;
  weft::this_goroutine::sleep_for(20ms);
  WEFT_EXPECT(sleep.elapsed() >= 20ms);
  WEFT_EXPECT(!weft::event().wait_for(10ms));
  WEFT_EXPECT(handled > 100);
  say("done");
  return 0;
}

// check: run WEFT_MAXPROCS=2 --case=signals_to_every_thread
// check: stdout ^done$
// check: run WEFT_MAXPROCS=4 WEFT_POLICY=global --case=signals_to_every_thread
// check: stdout ^done$
WEFT_CASE(signals_to_every_thread) {
  // At any instruction, a switch of stacks included.
  install(SIGUSR1, count_signal, SA_ONSTACK);
  install(SIGWINCH, count_signal, SA_RESTART);  // on whatever stack it hits
  std::atomic<bool> stop{false};
  std::thread sender([&] {
    unsigned random = 1;
    while (!stop) {
      for (const pid_t thread : all_threads()) {
        if (thread == gettid()) continue;
        random = random * 1664525 + 1013904223;
        syscall(SYS_tgkill, getpid(), thread, random >> 31 != 0 ? SIGUSR1 : SIGWINCH);
      }
      if (kSanitized) usleep(1000);
    }
  });
  weft::run([] {
    work_for(400ms);
    weft::wait_group group;
    for (int i = 0; i < 10; ++i) {
      group.go([] {
        for (int round = 0; round < 20'000 / kSlowdown; ++round) weft::this_goroutine::yield();
      });
      group.go([] {
        for (int round = 0; round < 2000 / kSlowdown; ++round) {
          try {
            throw round;
          } catch (int caught) {
            weft::this_goroutine::yield();
            WEFT_EXPECT(caught == round);
          }
        }
      });
    }
    group.wait();
  });
  stop = true;
  sender.join();
  WEFT_EXPECT(handled > 100);
  say("done");
  return 0;
}

// check: run WEFT_MAXPROCS=2 --case=children_that_end_in_numbers
// check: stdout ^done$
// check: within 40
WEFT_CASE(children_that_end_in_numbers) {
  install(SIGCHLD, count_signal, SA_ONSTACK | SA_NOCLDWAIT);
  weft::run([] {
    weft::wait_group group;
    group.go([] {
      for (int i = 0; i < 300 / kSlowdown; ++i) {
        const pid_t child = fork();
        if (child == 0) _exit(0);
        WEFT_EXPECT(child > 0);
        weft::this_goroutine::yield();
      }
    });
    work_for(200ms);
    group.wait();
  });
  WEFT_EXPECT(spin_until([] { return handled > 0; }));
  say("done");
  return 0;
}

// check: run --case=interrupt_ends_the_program
// check: exit SIGINT
// check: within 5
WEFT_CASE(interrupt_ends_the_program) {
  signal(SIGINT, SIG_DFL);
  weft::run([] {
    kill(getpid(), SIGINT);
    weft::this_goroutine::sleep_for(20s);
  });
  return 0;
}

namespace {

// What a stopped or frozen child says to the process that watches it.
struct Report {
  std::atomic<int> tid;
  std::atomic<bool> ready, stop, finished;
  std::atomic<long> counters[20];
  std::atomic<long> ticks, world_stops;
};

Report* shared_report() {
  void* const memory = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  WEFT_EXPECT(memory != MAP_FAILED);
  return new (memory) Report{};
}

void wait_until(const std::atomic<bool>& flag) {
  for (int i = 0; i < 20'000 && !flag; ++i) usleep(1000);
  WEFT_EXPECT(flag);
}

}  // namespace

// check: run --case=stopped_and_continued
// check: stdout ^done$
// check: not-stderr .
WEFT_CASE(stopped_and_continued) {
  Report* const report = shared_report();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a failed test leaves nobody behind
    weft::run({.maxprocs = 2}, [&] {
      // Sleeps that end while nothing runs end once each, and nobody cries deadlock.
      weft::wait_group group;
      for (int i = 0; i < 50; ++i) {
        group.go([&, i] {
          const Stopwatch watch;
          weft::this_goroutine::sleep_for(std::chrono::milliseconds(100 + 20 * i));
          WEFT_EXPECT(watch.elapsed() >= std::chrono::milliseconds(100 + 20 * i));
          ++report->ticks;
        });
      }
      weft::event never;
      group.go([&] { WEFT_EXPECT(!never.wait_for(600ms)); });
      group.go([&] { weft::blocking([] { usleep(500'000); }); });
      report->ready = true;
      group.wait();
      WEFT_EXPECT(report->ticks == 50);
      WEFT_EXPECT(mixed_workload());
    });
    _exit(0);
  }
  wait_until(report->ready);
  for (int i = 0; i < 3; ++i) {
    kill(child, SIGSTOP);
    usleep(700'000);
    kill(child, SIGCONT);
    usleep(50'000);
  }
  int status = 0;
  WEFT_EXPECT(waitpid(child, &status, 0) == child);
  WEFT_EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  say("done");
  return 0;
}

namespace {

enum class Where { kAnywhere, kInCall, kWakingAnother };

// Stopped in the call that says on which CPU another thread is to wake up (one that says 0 means itself).
bool places_another(pid_t process, pid_t thread) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", process, thread);
  std::FILE* const file = std::fopen(path, "r");
  if (file == nullptr) return false;
  long number = -1;
  unsigned long first = 0;
  const int read = std::fscanf(file, "%ld %lx", &number, &first);
  std::fclose(file);
  return read == 2 && number == SYS_sched_setaffinity && first != 0;
}

void freeze(pid_t thread) {
  WEFT_EXPECT(ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0);
  int status = 0;
  WEFT_EXPECT(waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status));
}

// One thread of the child is held for a second.
void freeze_one_thread(Where where) {
  const bool in_call = where == Where::kInCall;
  Report* const report = shared_report();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a failed test leaves nobody behind
    weft::run({.maxprocs = 2}, [&] {
      weft::wait_group group;
      for (std::atomic<long>& counter : report->counters) {
        group.go([&] {
          while (!report->stop) {
            ++counter;
            weft::this_goroutine::yield();
            weft::this_goroutine::sleep_for(100us);  // so that the other P runs out of work, and looks around
          }
        });
      }
      group.go([&] {
        while (!report->stop) {
          weft::this_goroutine::sleep_for(1ms);
          ++report->ticks;
        }
      });
      if (in_call) {
        group.go([&] {
          weft::blocking([&] {
            report->tid = gettid();
            report->ready = true;
            while (!report->stop) usleep(1000);
          });
        });
      } else {
        group.go([&] {
          weft::this_goroutine::yield();
          report->tid = gettid();
          report->ready = true;
        });
      }
      group.wait();
      weft::runtime::stop_the_world([] {});
      WEFT_EXPECT(mixed_workload());
      report->finished = true;
    });
    _exit(0);
  }
  wait_until(report->ready);
  usleep(50'000);
  const pid_t victim = report->tid;
  if (ptrace(PTRACE_SEIZE, victim, nullptr, nullptr) != 0) {
    kill(child, SIGKILL);
    skip("tracing a child is not allowed here");
  }
  freeze(victim);
  if (where == Where::kWakingAnother) {
    const Stopwatch watch;
    while (!places_another(child, victim)) {
      WEFT_EXPECT(watch.elapsed() < 30s);
      WEFT_EXPECT(ptrace(PTRACE_CONT, victim, nullptr, nullptr) == 0);
      usleep(50);
      freeze(victim);
    }
  }
  usleep(100'000);  // whatever was on its way has arrived
  long before[20];
  for (int i = 0; i < 20; ++i) before[i] = report->counters[i];
  const long ticks = report->ticks;
  usleep(1'000'000);
  int held = 0;
  for (int i = 0; i < 20; ++i) held += report->counters[i] == before[i] ? 1 : 0;
  const long ticked = report->ticks - ticks;
  WEFT_EXPECT(ptrace(PTRACE_DETACH, victim, nullptr, nullptr) == 0);
  std::printf("held %d, ticks %ld\n", held, ticked);
  // At most the one it was running, or that and the one it was about to run instead.
  WEFT_EXPECT(held <= (in_call ? 0 : 2));
  WEFT_EXPECT(ticked > 20);                // timers of its P as well
  report->stop = true;
  wait_until(report->finished);
  int status = 0;
  WEFT_EXPECT(waitpid(child, &status, 0) == child);
  WEFT_EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace

// check: run --case=frozen_thread
// check: stdout ^done$
// check: not-in asan tsan
WEFT_CASE(frozen_thread) {
  freeze_one_thread(Where::kAnywhere);
  say("done");
  return 0;
}

// Between its choice of an idle thread, which has a P from then on, and the ring that wakes it.
// check: run --case=thread_frozen_while_it_wakes_another
// check: stdout ^done$
// check: not-in asan tsan
WEFT_CASE(thread_frozen_while_it_wakes_another) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2) skip("with one CPU nobody is placed");
  freeze_one_thread(Where::kWakingAnother);
  say("done");
  return 0;
}

// check: run --case=thread_frozen_in_a_call
// check: stdout ^done$
// check: not-in asan tsan
WEFT_CASE(thread_frozen_in_a_call) {
  freeze_one_thread(Where::kInCall);
  say("done");
  return 0;
}
