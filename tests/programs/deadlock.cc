// SPDX-License-Identifier: MIT
// test-timeout: 120
// When every goroutine waits and nothing can wake one, the program says so and ends; and never otherwise (DL01-DL06).
#include <weft/weft.h>

#include <mutex>
#include <thread>

#include "support/cases.h"
#include "support/waiting.h"

namespace {

using namespace weft::test;

__attribute__((noinline)) void wait_for_ever_here(weft::event& never) {
  never.wait();
  asm volatile("");
}

}  // namespace

// check: run WEFT_MAXPROCS=1 --case=simple
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: stderr ^goroutine \d+ "the main one" \[event
// check: stderr wait_for_ever_here
// check: stderr ^goroutine \d+ "waits for a lock" \[mutex lock
// check: stderr ^goroutine \d+ "waits for a group" \[wait group
// check: stderr ^goroutine \d+ "joins" \[task join
// check: stderr started (by|at)
// check: not-stdout after
// check: within 5
// check: run WEFT_MAXPROCS=2 --case=simple
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: within 5
// check: run WEFT_MAXPROCS=4 --case=simple
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: within 5
// check: run WEFT_MAXPROCS=1 WEFT_POLICY=global --case=simple
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: within 5
// check: run WEFT_MAXPROCS=4 WEFT_POLICY=global --case=simple
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: within 5
WEFT_CASE(simple) {
  weft::run([] {
    weft::this_goroutine::set_name("the main one");
    static weft::event never;
    static weft::mutex lock;
    static weft::wait_group group;
    lock.lock();
    group.add();
    weft::go(weft::go_options{.name = "waits for a lock"}, [] { lock.lock(); });
    weft::go(weft::go_options{.name = "waits for a group"}, [] { group.wait(); });
    weft::go(weft::go_options{.name = "joins"}, [] { weft::spawn([] { group.wait(); }).join(); });
    wait_for_ever_here(never);
  });
  say("after");
  return 0;
}

// check: run --case=immediate
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: repeat 10
// check: within 5
WEFT_CASE(immediate) {
  weft::run([] { weft::event().wait(); });
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=locked_thread
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: stderr locked to thread
// check: within 5
// check: run WEFT_MAXPROCS=4 --case=locked_thread
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: within 5
WEFT_CASE(locked_thread) {
  weft::run([] {
    weft::lock_os_thread();
    weft::event().wait();
  });
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=locked_after_work
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: within 5
// check: run WEFT_MAXPROCS=2 WEFT_POLICY=global --case=locked_after_work
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: within 5
WEFT_CASE(locked_after_work) {
  weft::run([] {
    weft::lock_os_thread();
    for (int i = 0; i < 10; ++i) {
      weft::spawn([] { weft::this_goroutine::yield(); }).join();
      weft::blocking([] { usleep(100); });
    }
    weft::go([] {
      weft::lock_os_thread();
      weft::event().wait();
    });
    weft::event().wait();
  });
  return 0;
}

// check: run --case=mutual
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: within 5
WEFT_CASE(mutual) {
  weft::run([] {
    weft::mutex first, second;
    weft::event has_first, has_second;
    weft::wait_group group;
    group.go([&] {
      const std::lock_guard one(first);
      has_first.set();
      has_second.wait();
      const std::lock_guard two(second);
    });
    group.go([&] {
      const std::lock_guard one(second);
      has_second.set();
      has_first.wait();
      const std::lock_guard two(first);
    });
    group.wait();
  });
  return 0;
}

// check: run --case=before_main
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: within 5
namespace {
struct DeadlocksInItsConstructor {
  DeadlocksInItsConstructor() {
    const std::string command = [] {
      std::string text;
      if (FILE* file = std::fopen("/proc/self/cmdline", "r")) {
        char buffer[1000];
        text.assign(buffer, std::fread(buffer, 1, sizeof buffer, file));
        std::fclose(file);
      }
      return text;
    }();
    if (command.find("--case=before_main") != std::string::npos) weft::run([] { weft::event().wait(); });
  }
} deadlocks_in_its_constructor;
}  // namespace
WEFT_CASE(before_main) {
  say("main was reached");
  return 0;
}

// check: run --case=plain_thread_waits
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: stderr ^there is no goroutine; 1 plain thread waits for a channel or another primitive of weft, and nobody is left to wake it$
// check: within 5
WEFT_CASE(plain_thread_waits) {
  weft::run([] {});
  weft::event().wait();  // main is the only thread outside, and waits too
  return 0;
}

// check: run --case=plain_threads_wait
// check: exit 2
// check: stderr ^there is no goroutine; 3 plain threads wait for a channel
// check: within 5
WEFT_CASE(plain_threads_wait) {
  weft::chan<int> never;
  std::thread one([&] { never.recv(); }), two([&] { never.recv(); });
  never.recv();
  one.join();
  two.join();
  return 0;
}

// check: run --case=two_threads_in_run
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: within 8
WEFT_CASE(two_threads_in_run) {
  std::thread other([] { weft::run([] { weft::event().wait(); }); });
  weft::run([] { weft::event().wait(); });
  other.join();
  return 0;
}

// check: run --case=after_the_last_timer
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: stdout awake
// check: within 5
WEFT_CASE(after_the_last_timer) {
  weft::run([] {
    weft::event never;
    weft::go([&] {
      weft::this_goroutine::sleep_for(200ms);
      say("awake");
      never.wait();
    });
    if (never.wait_for(100ms)) _exit(1);
    never.wait();
  });
  return 0;
}

// check: run --case=after_a_timer_was_not_needed
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: within 5
WEFT_CASE(after_a_timer_was_not_needed) {
  weft::run([] {
    weft::event soon, never;
    weft::go([&] { soon.set(); });
    if (!soon.wait_for(1h)) _exit(1);  // the timer of an hour is gone with the wait
    never.wait();
  });
  return 0;
}

// check: run --case=sleep_for_ever
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: stderr \[sleep
// check: within 5
WEFT_CASE(sleep_for_ever) {
  weft::run([] { weft::this_goroutine::sleep_for(std::chrono::hours::max()); });
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=none_while_one_sleeps
// check: stdout ^woken$
// check: run WEFT_MAXPROCS=4 --case=none_while_one_sleeps
// check: stdout ^woken$
WEFT_CASE(none_while_one_sleeps) {
  weft::run([] {
    weft::event event;
    weft::go([&] {
      weft::this_goroutine::sleep_for(1500ms);
      event.set();
    });
    event.wait();
  });
  say("woken");
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=none_during_a_blocking_call
// check: stdout ^woken$
// check: run WEFT_MAXPROCS=4 WEFT_POLICY=global --case=none_during_a_blocking_call
// check: stdout ^woken$
WEFT_CASE(none_during_a_blocking_call) {
  weft::run([] {
    weft::event event;
    weft::go([&] {
      weft::blocking([] { usleep(1'500'000); });
      event.set();
    });
    event.wait();
  });
  say("woken");
  return 0;
}

// check: run --case=none_while_a_foreign_thread_lives
// check: stdout ^woken$
WEFT_CASE(none_while_a_foreign_thread_lives) {
  weft::event event;
  std::thread foreign([&] {
    usleep(1'500'000);
    event.set();
  });
  weft::run([&] { event.wait(); });
  foreign.join();
  say("woken");
  return 0;
}

// check: run --case=none_while_main_computes
// check: stdout ^woken$
WEFT_CASE(none_while_main_computes) {
  weft::event event;
  weft::go([&] { event.wait(); });
  usleep(1'200'000);  // every goroutine waits, but main has not come to it yet
  event.set();
  weft::run([] {});
  say("woken");
  return 0;
}

// check: run --case=none_while_others_run
// check: stdout ^woken$
WEFT_CASE(none_while_others_run) {
  weft::run([] {
    for (int i = 0; i < 100; ++i) weft::go([] { weft::event().wait(); });  // leaked: not the program's end
    const Stopwatch watch;
    while (watch.elapsed() < 1200ms) weft::this_goroutine::yield();
  });
  say("woken");
  return 0;
}

// check: run --case=when_the_foreign_thread_has_ended
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: stdout thread ends
// check: within 5
WEFT_CASE(when_the_foreign_thread_has_ended) {
  std::thread([] {
    usleep(700'000);
    say("thread ends");
  }).detach();
  weft::run([] { weft::event().wait(); });
  return 0;
}

// check: run --case=main_exits_alone
// check: exit 2
// check: first-stderr fatal error: no goroutines \(main called Goexit\) - deadlock!
// check: within 5
WEFT_CASE(main_exits_alone) {
  weft::run([] { weft::this_goroutine::exit(); });
  say("run returned");
  return 0;
}

// check: run --case=inner_main_exits
// check: exit 2
// check: stderr ^goroutine \d+ \[task join\]:\n  waits for the end of goroutine \d+, which left by this_goroutine::exit\(\): its run\(\) does not return$
// check: not-stderr has not started
// check: within 5
WEFT_CASE(inner_main_exits) {
  weft::run([] { weft::run([] { weft::this_goroutine::exit(); }); });
  return 0;
}

// check: run --case=main_exits_and_others_go_on
// check: repeat 10
// check: stdout ^the other ends the program$
// check: not-stdout run returned
WEFT_CASE(main_exits_and_others_go_on) {
  weft::run([] {
    weft::go([] {
      weft::this_goroutine::sleep_for(300ms);
      say("the other ends the program");
      exit(0);
    });
    weft::this_goroutine::exit();
  });
  say("run returned");
  return 0;
}

// check: run --case=main_exits_and_the_others_end
// check: exit 2
// check: first-stderr fatal error: no goroutines \(main called Goexit\) - deadlock!
// check: stdout ^the other is done$
// check: within 5
WEFT_CASE(main_exits_and_the_others_end) {
  weft::run([] {
    weft::go([] {
      weft::this_goroutine::sleep_for(100ms);
      say("the other is done");
    });
    weft::this_goroutine::exit();
  });
  say("run returned");
  return 0;
}

// check: run --case=many
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: stderr more goroutines
// check: within 10
WEFT_CASE(many) {
  weft::run([] {
    for (int i = 0; i < 3000; ++i) weft::go([] { weft::event().wait(); });
    weft::event().wait();
  });
  return 0;
}

// What can never be ready (CH08, SE01, SE02).
// check: run WEFT_MAXPROCS=1 --case=never_ready
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: stderr "sends" \[chan send \(nil chan\)
// check: stderr "receives" \[chan receive \(nil chan\)
// check: stderr "selects" \[select \(no cases\)
// check: stderr "selects nil" \[select
// check: not-stdout after
// check: within 5
// check: run WEFT_MAXPROCS=4 WEFT_POLICY=global --case=never_ready
// check: exit 2
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: not-stdout after
// check: within 5
WEFT_CASE(never_ready) {
  weft::run([] {
    auto nil = weft::chan<int>::nil();
    const auto start = [](const char* name, auto function) {
      weft::go(weft::go_options{.name = name}, [function]() mutable {
        function();
        say("after");
      });
    };
    start("sends", [=]() mutable { nil.send(1); });
    start("receives", [=]() mutable { nil.recv(); });
    start("selects", [] { weft::select(); });
    start("selects nil", [=]() mutable { weft::select(weft::on_recv(nil), weft::on_send(nil, 1)); });
    weft::selector none;
    none.wait();
    say("after");
  });
  return 0;
}
