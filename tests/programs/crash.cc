// SPDX-License-Identifier: MIT
// test-timeout: 120
// How a program dies of its mistakes: exceptions nobody catches, faults, misuse (DL07-DL10, DL12, F15).
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weft/weft.h>

#include <atomic>
#include <exception>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include "support/cases.h"
#include "support/waiting.h"

namespace {

using namespace weft::test;

__attribute__((noinline)) void function_that_throws() {
  throw std::runtime_error("boom");
}

// Never returns: the process dies meanwhile.
void wait_for_the_end() {
  for (;;) weft::this_goroutine::sleep_for(100ms);
}

bool is_ignored(int signal) {
  struct sigaction present{};
  WEFT_EXPECT(sigaction(signal, nullptr, &present) == 0);
  return (present.sa_flags & SA_SIGINFO) == 0 && present.sa_handler == SIG_IGN;
}

}  // namespace

// check: run WEFT_MAXPROCS=1 --case=uncaught
// check: exit SIGABRT
// check: first-stderr fatal error: goroutine \d+ "thrower": uncaught exception
// check: stderr std::runtime_error: boom
// check: stderr function_that_throws
// check: stderr crash\.cc:\d+
// check: run WEFT_MAXPROCS=4 WEFT_POLICY=global --case=uncaught
// check: exit SIGABRT
// check: first-stderr fatal error: goroutine \d+ "thrower": uncaught exception
// check: stderr std::runtime_error: boom
WEFT_CASE(uncaught) {
  weft::run([] {
    weft::go(weft::go_options{.name = "thrower"}, [] { function_that_throws(); });
    wait_for_the_end();
  });
  return 0;
}

// check: run --case=uncaught_in_group
// check: exit SIGABRT
// check: first-stderr fatal error: goroutine \d+: uncaught exception
// check: not-stdout after wait
// check: repeat 10
WEFT_CASE(uncaught_in_group) {
  weft::run([] {
    weft::wait_group group;
    group.go([] { throw std::runtime_error("in a group"); });
    group.wait();
    say("after wait");
  });
  return 0;
}

// check: run --case=uncaught_int
// check: exit SIGABRT
// check: first-stderr fatal error: goroutine \d+: uncaught exception
// check: stderr exception of type int$
WEFT_CASE(uncaught_int) {
  weft::run([] {
    weft::go([] { throw 7; });
    wait_for_the_end();
  });
  return 0;
}

// check: run --case=uncaught_races_with_main
// check: exit SIGABRT
// check: first-stderr fatal error: goroutine \d+: uncaught exception
// check: stderr std::runtime_error: lost\?
// check: repeat 10
WEFT_CASE(uncaught_races_with_main) {
  weft::run([] {
    weft::event about_to_throw;
    weft::go([&] {
      about_to_throw.set();
      throw std::runtime_error("lost?");
    });
    about_to_throw.wait();
  });
  return 0;
}

// check: run --case=main_returns_during_the_report
// check: exit SIGABRT
// check: first-stderr fatal error: goroutine \d+: uncaught exception
// check: stderr SlowToTell: took its time
WEFT_CASE(main_returns_during_the_report) {
  static std::atomic<bool> asked{false};
  struct SlowToTell : std::exception {
    const char* what() const noexcept override {
      asked = true;
      usleep(500'000);
      return "took its time";
    }
  };
  weft::run([] {
    weft::go([] { throw SlowToTell(); });
    while (!asked) weft::this_goroutine::sleep_for(1ms);
  });
  return 0;
}

// check: run --case=uncaught_by_many_at_once
// check: exit SIGABRT
// check: first-stderr fatal error: goroutine \d+: uncaught exception
// check: not-stderr (?s)uncaught exception.*uncaught exception
// check: repeat 5
WEFT_CASE(uncaught_by_many_at_once) {
  weft::run({.maxprocs = 4}, [] {
    for (int i = 0; i < 20; ++i) {
      weft::go([] {
        weft::this_goroutine::yield();
        throw std::runtime_error("one of many");
      });
    }
    wait_for_the_end();
  });
  return 0;
}

// check: run --case=what_throws
// check: exit SIGABRT
// check: first-stderr fatal error: goroutine \d+: uncaught exception
WEFT_CASE(what_throws) {
  // what() is noexcept in the standard: one that throws all the same ends in std::terminate a second time.
  struct Terminates : std::exception {
    [[noreturn]] static void complain() { throw std::runtime_error("no comment"); }
    const char* what() const noexcept override { complain(); }
  };
  weft::run([] {
    weft::go([] { throw Terminates(); });
    wait_for_the_end();
  });
  return 0;
}

// check: run --case=what_recurses
// check: exit SIGABRT,SIGSEGV
// check: first-stderr fatal error: goroutine \d+: uncaught exception
// check: within 10
WEFT_CASE(what_recurses) {
  struct Recurses : std::exception {
    __attribute__((noinline)) int deeper(int depth) const {
      volatile char space[1000] = {};
      space[depth % 1000] = 1;
      return depth < 0 ? 0 : deeper(depth + 1) + space[depth % 1000];
    }
    const char* what() const noexcept override { return deeper(0) == 0 ? "" : "never"; }
  };
  weft::run([] {
    weft::go([] { throw Recurses(); });
    wait_for_the_end();
  });
  return 0;
}

// check: run --case=what_is_long
// check: exit SIGABRT
// check: first-stderr fatal error: goroutine \d+: uncaught exception
// check: not-stderr x{2000}
WEFT_CASE(what_is_long) {
  weft::run([] {
    weft::go([] { throw std::runtime_error(std::string(1'000'000, 'x')); });
    wait_for_the_end();
  });
  return 0;
}

// check: run --case=terminate
// check: exit SIGABRT
// check: first-stderr fatal error: goroutine \d+: uncaught exception
// check: stderr without an exception
WEFT_CASE(terminate) {
  weft::run([] { std::terminate(); });
  return 0;
}

// check: run --case=out_of_noexcept
// check: exit SIGABRT
// check: first-stderr fatal error: goroutine \d+: uncaught exception
// check: stderr std::runtime_error: boom
WEFT_CASE(out_of_noexcept) {
  weft::run([] {
    try {
      []() noexcept { function_that_throws(); }();
    } catch (...) {
      say("caught");
    }
  });
  return 0;
}

// check: run --case=exit_out_of_noexcept
// check: exit SIGABRT
// check: first-stderr fatal error: goroutine \d+: this_goroutine::exit\(\) cannot end it
// check: stderr ^  std::terminate was called while it unwound the stack: a noexcept function or a stop_callback lets nothing out$
// check: stderr case_exit_out_of_noexcept
WEFT_CASE(exit_out_of_noexcept) {
  weft::run([] { []() noexcept { weft::this_goroutine::exit(); }(); });
  return 0;
}

// check: run --case=exit_out_of_stop_callback
// check: exit SIGABRT
// check: first-stderr fatal error: goroutine \d+: this_goroutine::exit\(\) cannot end it
WEFT_CASE(exit_out_of_stop_callback) {
  weft::run([] {
    auto [ctx, cancel] = weft::with_cancel(weft::context::background());
    const std::stop_callback leaves(ctx.stop_token(), [] { weft::this_goroutine::exit(); });
    cancel();
  });
  return 0;
}

// What ends later on the same stack is not blamed on an exit() before it.
// check: run WEFT_MAXPROCS=1 --case=throws_after_an_exit
// check: exit SIGABRT
// check: first-stderr fatal error: goroutine \d+: uncaught exception
// check: stderr without an exception
WEFT_CASE(throws_after_an_exit) {
  weft::run([] {
    try {
      weft::spawn([] { weft::this_goroutine::exit(); }).join();
    } catch (const weft::goroutine_exited&) {
    }
    weft::spawn([] { std::terminate(); }).join();
  });
  return 0;
}

// check: run --case=out_of_destructor_in_unwinding
// check: exit SIGABRT
// check: first-stderr fatal error: goroutine \d+: uncaught exception
WEFT_CASE(out_of_destructor_in_unwinding) {
  struct Throws {
    ~Throws() noexcept(false) { throw std::runtime_error("second"); }
  };
  weft::run([] {
    try {
      const Throws throws;
      throw std::runtime_error("first");
    } catch (...) {
      say("caught");
    }
  });
  return 0;
}

// check: run --case=earlier_terminate_handler
// check: exit 9
// check: stderr uncaught exception
// check: stdout ^the program's own handler$
WEFT_CASE(earlier_terminate_handler) {
  std::set_terminate([] {
    say("the program's own handler");
    _exit(9);
  });
  weft::run([] {
    weft::go([] { throw 1; });
    wait_for_the_end();
  });
  return 0;
}

// check: run --case=swallowed_exit
// check: exit SIGABRT
// check: first-stderr fatal error: goroutine \d+: this_goroutine::exit\(\) was swallowed by a catch \(\.\.\.\) .*
// check: not-stdout went on
WEFT_CASE(swallowed_exit) {
  weft::run([] {
    weft::spawn([] {
      try {
        weft::this_goroutine::exit();
      } catch (...) {
      }
      say("went on");
    }).join();
  });
  return 0;
}

// check: run --case=unlock_of_unlocked_mutex
// check: exit SIGABRT
// check: first-stderr fatal error: .*unlock.*unlocked mutex.*
WEFT_CASE(unlock_of_unlocked_mutex) {
  weft::run([] {
    weft::mutex lock;
    lock.lock();
    lock.unlock();
    lock.unlock();
  });
  return 0;
}

// check: run --case=null_pointer
// check: exit SIGSEGV
// check: first-stderr fatal error: goroutine \d+ "faulty": SIGSEGV at address (0x10|\(nil\)|0x0)
// check: stderr function_that_reads_null
// check: not-in asan tsan
namespace {
__attribute__((noinline)) int function_that_reads_null(const int* pointer) { return *const_cast<const volatile int*>(pointer); }
}  // namespace
WEFT_CASE(null_pointer) {
  weft::run([] {
    weft::this_goroutine::set_name("faulty");
    function_that_reads_null(reinterpret_cast<const int*>(0x10));
  });
  return 0;
}

// check: run --case=fault_reaches_an_earlier_handler
// check: exit 7
// check: stderr goroutine \d+
// check: stdout ^user handler, signal 11, address 0x10$
// check: not-in asan tsan
WEFT_CASE(fault_reaches_an_earlier_handler) {
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
    char text[100];
    std::snprintf(text, sizeof text, "user handler, signal %d, address %p", signal, info->si_addr);
    say(context != nullptr ? text : "no context");
    _exit(7);
  };
  sigaction(SIGSEGV, &action, nullptr);
  weft::run([] { function_that_reads_null(reinterpret_cast<const int*>(0x10)); });
  return 0;
}

// check: run --case=a_handler_can_repair_and_go_on
// check: stdout ^repaired 100$
// check: not-in asan tsan
WEFT_CASE(a_handler_can_repair_and_go_on) {
  // As garbage collectors and databases do: a page is made accessible when it is touched.
  static void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static volatile int repaired = 0;
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = [](int, siginfo_t*, void*) {
    repaired = repaired + 1;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
  };
  sigaction(SIGSEGV, &action, nullptr);
  weft::run([] {
    for (int i = 0; i < 100; ++i) {
      mprotect(page, 4096, PROT_NONE);
      weft::spawn([] { *static_cast<volatile int*>(page) = 1; }).join();
    }
  });
  std::printf("repaired %d\n", repaired);
  return 0;
}

// check: run --case=fault_on_a_plain_thread
// check: exit SIGSEGV
// check: not-stderr goroutine
// check: not-in asan tsan
WEFT_CASE(fault_on_a_plain_thread) {
  weft::run([] {});
  function_that_reads_null(reinterpret_cast<const int*>(0x10));
  return 0;
}

// check: run --case=bus_error
// check: exit SIGBUS
// check: first-stderr fatal error: goroutine \d+: SIGBUS at address 0x.*
// check: not-in asan tsan
WEFT_CASE(bus_error) {
  FILE* const file = std::tmpfile();  // empty: a page of it cannot be read
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);
  weft::run([page] { function_that_reads_null(static_cast<const int*>(page)); });
  return 0;
}

// check: run --case=abort_in_goroutine
// check: exit SIGABRT
// check: stdout ^before$
WEFT_CASE(abort_in_goroutine) {
  weft::run([] {
    say("before");
    std::abort();
  });
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=quit_signal
// check: exit 2
// check: first-stderr SIGQUIT: quit
// check: stderr goroutine \d+ "sleeper" \[sleep
// check: stderr goroutine \d+ "busy" \[runn
// check: stderr goroutine \d+ "in a call" \[in call
// check: stderr started (by|at)
// check: within 8
// check: run WEFT_MAXPROCS=4 WEFT_POLICY=global --case=quit_signal
// check: exit 2
// check: first-stderr SIGQUIT: quit
// check: stderr goroutine \d+ "sleeper" \[sleep
// check: within 8
WEFT_CASE(quit_signal) {
  weft::run([] {
    std::atomic<int> started{0};
    const auto start = [&](const char* name, auto body) {
      weft::go(weft::go_options{.name = name}, [&started, body] {
        ++started;
        body();
      });
    };
    start("sleeper", [] { weft::this_goroutine::sleep_for(1h); });
    start("in a call", [] { weft::blocking([] { sleep(100); }); });
    start("busy", [] {
      for (;;) weft::this_goroutine::yield();
    });
    while (started < 3) weft::this_goroutine::yield();
    weft::this_goroutine::sleep_for(50ms);
    weft::blocking([] { kill(getpid(), SIGQUIT); });
    wait_for_the_end();
  });
  return 0;
}

// check: run --case=quit_signal_when_all_is_idle
// check: exit 2
// check: first-stderr SIGQUIT: quit
// check: stderr \[sleep
// check: within 8
WEFT_CASE(quit_signal_when_all_is_idle) {
  std::thread([] {
    usleep(1'500'000);
    kill(getpid(), SIGQUIT);
  }).detach();
  weft::run([] { weft::this_goroutine::sleep_for(1h); });
  return 0;
}

// check: run --case=quit_signal_of_the_program
// check: exit 5
// check: not-stderr goroutine
WEFT_CASE(quit_signal_of_the_program) {
  signal(SIGQUIT, [](int) { _exit(5); });
  weft::run([] {
    kill(getpid(), SIGQUIT);
    wait_for_the_end();
  });
  return 0;
}

// A shell starts `server &` of a script with SIGQUIT ignored: it dumps all the same.
// check: run --case=quit_signal_ignored_at_start
// check: exit 2
// check: first-stderr SIGQUIT: quit
// check: stderr \[sleep
// check: within 8
WEFT_CASE(quit_signal_ignored_at_start) {
  if (signal(SIGQUIT, SIG_IGN) != SIG_IGN) {
    execl("/proc/self/exe", "crash", "--case=quit_signal_ignored_at_start", nullptr);
    return 1;
  }
  std::thread([] {
    while (is_ignored(SIGQUIT) || weft::runtime::read_stats().waiting == 0) usleep(1000);
    kill(getpid(), SIGQUIT);
  }).detach();
  weft::run([] { weft::this_goroutine::sleep_for(5s); });
  return 0;
}

// What the program says of the signal after the start holds, too.
// check: run --case=quit_signal_handled_later
// check: exit 5
// check: not-stderr goroutine
WEFT_CASE(quit_signal_handled_later) {
  weft::run([] {
    signal(SIGQUIT, SIG_IGN);
    kill(getpid(), SIGQUIT);
    signal(SIGQUIT, [](int) { _exit(5); });
    kill(getpid(), SIGQUIT);
    wait_for_the_end();
  });
  return 0;
}

// A buffered channel moves its elements under its lock: whoever waits there would be waited for by all who use the channel.
// check: run WEFT_MAXPROCS=1 --case=parking_move
// check: exit SIGABRT
// check: stderr a move, copy or destructor of a channel's element waits or yields
// check: run WEFT_MAXPROCS=2 --case=parking_destructor
// check: exit SIGABRT
// check: stderr a move, copy or destructor of a channel's element waits or yields
struct Polite {
  Polite() = default;
  Polite(Polite&&) noexcept { weft::this_goroutine::yield(); }
};
WEFT_CASE(parking_move) {
  weft::run([] {
    weft::chan<Polite> one_by_one;
    weft::spawn([one_by_one]() mutable { one_by_one.send({}); }).detach();
    one_by_one.recv();  // no lock is held while an element goes from hand to hand
    weft::chan<Polite> buffered(2);
    buffered.send({});
  });
  return 0;
}

struct Slow {
  explicit Slow(int n) : number(n) {}
  Slow(Slow&& other) noexcept : number(std::exchange(other.number, 0)) {}
  ~Slow() {
    if (number == 0) weft::this_goroutine::sleep_for(1ms);
  }
  int number;
};
WEFT_CASE(parking_destructor) {
  weft::run([] {
    weft::chan<Slow> buffered(2);
    buffered.send(Slow(1));
    buffered.recv();
  });
  return 0;
}
