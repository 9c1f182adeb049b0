// SPDX-License-Identifier: MIT
// test-timeout: 180
// Processes started by goroutines: fork, exec, posix_spawn, system (F12-F14).
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <weft/weft.h>

#include <climits>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <string>
#include <vector>

#include "support/cases.h"
#include "support/process.h"
#include "support/workload.h"

extern char** environ;

namespace {

using namespace weft::test;

// Goroutines of all kinds that run until told to stop.
class Load {
 public:
  Load() {
    for (int i = 0; i < 4; ++i) {
      group_.go([this] {
        while (!stop_) {
          weft::spawn([] {}).join();
          weft::this_goroutine::yield();
        }
      });
      group_.go([this] {
        while (!stop_) weft::this_goroutine::sleep_for(100us);
      });
      group_.go([this] {
        while (!stop_) weft::blocking([] { usleep(100); });
      });
      group_.go([this] {
        while (!stop_) {
          std::string* text = new std::string(100, 'x');
          weft::this_goroutine::yield();
          delete text;
        }
      });
    }
  }
  ~Load() {
    stop_ = true;
    group_.wait();
  }

 private:
  std::atomic<bool> stop_{false};
  weft::wait_group group_;
};

// The child's end; one that hangs is killed, and says so.
int wait_for(pid_t child, Clock::duration limit = 10s) {
  const auto end = Clock::now() + limit * kSlowdown;
  for (;;) {
    int status = 0;
    const pid_t got = waitpid(child, &status, WNOHANG);
    if (got == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    WEFT_EXPECT(got == 0);
    if (Clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return -1;
    }
    weft::this_goroutine::sleep_for(500us);
  }
}

template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  return wait_for(child);
}

}  // namespace

// check: run WEFT_MAXPROCS=2 --case=fork_and_exit_under_load
// check: stdout ^done$
// check: within 100
// check: run WEFT_MAXPROCS=4 WEFT_POLICY=global --case=fork_and_exit_under_load
// check: stdout ^done$
// check: within 100
WEFT_CASE(fork_and_exit_under_load) {
  weft::run([] {
    const Load load;
    weft::wait_group group;
    for (int forker = 0; forker < 2; ++forker) {
      group.go([] {
        for (int i = 0; i < 500 / kSlowdown; ++i) {
          const int status = in_child([i] {
            // What is allowed between fork and exec.
            if (i % 3 == 0) close(0);
            if (i % 3 == 1 && !kAsan) delete new std::string(100, 'y');  // ASan's allocator may be locked in the child
            _exit(i % 100);
          });
          WEFT_EXPECT(status == i % 100);
        }
      });
    }
    group.wait();
  });
  say("done");
  return 0;
}

// check: run --case=parent_goes_on_after_fork
// check: stdout ^done$
WEFT_CASE(parent_goes_on_after_fork) {
  weft::run([] {
    for (int i = 0; i < 20; ++i) {
      WEFT_EXPECT(in_child([] {}) == 0);
      WEFT_EXPECT(mixed_workload());
    }
  });
  WEFT_EXPECT(in_child([] {}) == 0);
  say("done");
  return 0;
}

namespace {

// A child that uses the runtime all the same hears of it, whatever it tries.
template <class Body>
bool is_refused(const char* what, Body body) {
  const int status = in_child(body);
  if (status != 2) std::printf("%s: status %d\n", what, status);
  return status == 2;
}

}  // namespace

// check: run --case=runtime_in_a_child_of_a_goroutine
// check: stdout ^done$
// check: first-stderr fatal error: weft: the goroutine runtime does not exist in a forked child; only exec or _exit may follow fork
// check: not-stderr deadlock
WEFT_CASE(runtime_in_a_child_of_a_goroutine) {
  weft::run([] {
    const Load load;
    weft::event never;
    weft::task<int> parents = weft::spawn([&] { return never.wait_for(1h) ? 1 : 0; });
    bool refused = true;
    refused &= is_refused("go", [] { weft::go([] {}); });
    refused &= is_refused("spawn", [] { weft::spawn([] {}).join(); });
    refused &= is_refused("run", [] { weft::run([] {}); });
    refused &= is_refused("wait for ever", [&] { never.wait(); });
    refused &= is_refused("join", [&] { parents.join(); });
    refused &= is_refused("stop the world", [] { weft::runtime::stop_the_world([] {}); });
    refused &= is_refused("maxprocs", [] { weft::runtime::set_maxprocs(3); });
    refused &= is_refused("dump", [] { weft::runtime::dump(std::cout); });
    WEFT_EXPECT(refused);
    never.set();
  });
  say("done");
  return 0;
}

// check: run --case=child_returns_from_the_goroutine
// check: stdout ^done$
// check: stderr fatal error: weft: the goroutine runtime does not exist in a forked child; only exec or _exit may follow fork
WEFT_CASE(child_returns_from_the_goroutine) {
  weft::run([] {
    pid_t child = -1;
    weft::wait_group group;
    group.go([&] { child = fork(); });  // the child goes on to the end of the goroutine
    group.wait();
    WEFT_EXPECT(wait_for(child) == 2);
  });
  say("done");
  return 0;
}

// check: run --case=runtime_in_a_child_of_a_thread
// check: stdout ^done$
// check: first-stderr fatal error: weft: the goroutine runtime does not exist in a forked child; only exec or _exit may follow fork
WEFT_CASE(runtime_in_a_child_of_a_thread) {
  weft::run([] {});
  bool refused = true;
  refused &= is_refused("go", [] { weft::go([] {}); });
  refused &= is_refused("spawn", [] { weft::spawn([] {}).join(); });
  refused &= is_refused("run", [] { weft::run([] {}); });
  refused &= is_refused("stop the world", [] { weft::runtime::stop_the_world([] {}); });
  WEFT_EXPECT(refused);
  say("done");
  return 0;
}

// (What the threads that are gone had in hand has no owner in the child: a leak to LeakSanitizer.)
// check: run ASAN_OPTIONS=detect_leaks=0 --case=what_works_in_a_child
// check: stdout ^done$
WEFT_CASE(what_works_in_a_child) {
  weft::run([] {
    const Load load;
    for (int i = 0; i < 20; ++i) {
      WEFT_EXPECT(in_child([] {
                    static weft::mutex lock;  // free: locking it asks nobody
                    lock.lock();
                    lock.unlock();
                    weft::this_goroutine::yield();
                    weft::this_goroutine::sleep_for(1ms);
                    if (weft::event().wait_for(1ms)) _exit(3);
                    if (weft::blocking([] { return 5; }) != 5) _exit(4);
                    try {
                      throw 1;
                    } catch (int) {
                    }
                    exit(0);  // not _exit: the handlers of the parent's runtime must not wait
                  }) == 0);
    }
  });
  say("done");
  return 0;
}

// check: run --case=fork_before_the_runtime_starts
// check: stdout (?s)^child$.*^parent$
WEFT_CASE(fork_before_the_runtime_starts) {
  const pid_t child = fork();
  if (child == 0) {
    weft::run([] { WEFT_EXPECT(mixed_workload()); });
    say("child");
    exit(0);
  }
  WEFT_EXPECT(wait_for(child) == 0);
  weft::run([] { WEFT_EXPECT(mixed_workload()); });
  say("parent");
  return 0;
}

namespace {

// What a program started by another one gets from it.
std::string inheritance() {
  std::string text;
  sigset_t mask;
  sigprocmask(SIG_SETMASK, nullptr, &mask);
  for (int signal = 1; signal < 65; ++signal) {
    if (signal == 32 || signal == 33) continue;  // the C library's own
    if (sigismember(&mask, signal) == 1) text += "blocked " + std::to_string(signal) + "\n";
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) text += "ignored " + std::to_string(signal) + "\n";
  }
  for (int descriptor = 0; descriptor < 200; ++descriptor)
    if (fcntl(descriptor, F_GETFD) >= 0) text += "descriptor " + std::to_string(descriptor) + "\n";
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) text += "cpus " + std::to_string(CPU_COUNT(&cpus)) + "\n";
  return text;
}

}  // namespace

// check: run --case=show_inheritance
// check: stdout descriptor 0
WEFT_CASE(show_inheritance) {
  std::fputs(inheritance().c_str(), stdout);
  return 0;
}

// check: run --case=programs_inherit_nothing_of_the_runtime
// check: stdout ^done$
WEFT_CASE(programs_inherit_nothing_of_the_runtime) {
  signal(SIGUSR1, SIG_IGN);
  char path[PATH_MAX] = {};
  WEFT_EXPECT(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  const std::string output = "/tmp/weft-fork-test." + std::to_string(getpid());
  const auto read_output = [&] {
    std::string text;
    if (FILE* file = std::fopen(output.c_str(), "r")) {
      char buffer[10'000];
      text.assign(buffer, std::fread(buffer, 1, sizeof buffer, file));
      std::fclose(file);
    }
    std::remove(output.c_str());
    return text;
  };
  const std::string expected = inheritance();
  char* arguments[] = {path, const_cast<char*>("--case=show_inheritance"), nullptr};
  weft::run({.maxprocs = 2}, [&] {
    const Load load;
    for (int i = 0; i < 10; ++i) {
      WEFT_EXPECT(in_child([&] {
                    const int file = open(output.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
                    dup2(file, 1);
                    execv(path, arguments);
                    _exit(99);
                  }) == 0);
      const std::string by_exec = read_output();
      if (by_exec != expected) std::printf("expected\n%s\nfork and exec gave\n%s\n", expected.c_str(), by_exec.c_str());
      WEFT_EXPECT(by_exec == expected);

      posix_spawn_file_actions_t actions;
      posix_spawn_file_actions_init(&actions);
      posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
      pid_t child = 0;
      WEFT_EXPECT(posix_spawn(&child, path, &actions, nullptr, arguments, environ) == 0);
      posix_spawn_file_actions_destroy(&actions);
      WEFT_EXPECT(wait_for(child) == 0);
      const std::string by_spawn = read_output();
      if (by_spawn != expected) std::printf("expected\n%s\nposix_spawn gave\n%s\n", expected.c_str(), by_spawn.c_str());
      WEFT_EXPECT(by_spawn == expected);
    }
  });
  say("done");
  return 0;
}

// check: run WEFT_MAXPROCS=2 --case=system_from_many_goroutines
// check: stdout ^done$
// check: within 60
WEFT_CASE(system_from_many_goroutines) {
  weft::run([] {
    std::atomic<bool> stop{false};
    std::atomic<int> ticks{0};
    weft::wait_group ticker, group;
    ticker.go([&] {
      while (!stop) {
        weft::this_goroutine::sleep_for(5ms);
        ++ticks;
      }
    });
    const Stopwatch watch;
    for (int i = 0; i < 100 / kSlowdown; ++i) {
      group.go([i] {
        const int status = weft::blocking([i] { return system(("exit " + std::to_string(i % 7)).c_str()); });
        WEFT_EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == i % 7);
      });
    }
    group.wait();
    const double seconds = watch.seconds();
    stop = true;
    ticker.wait();
    WEFT_EXPECT(ticks >= static_cast<int>(seconds / 0.1));  // it went on ticking meanwhile
    WEFT_EXPECT(waitpid(-1, nullptr, WNOHANG) == -1);       // all of them were waited for
  });
  say("done");
  return 0;
}
