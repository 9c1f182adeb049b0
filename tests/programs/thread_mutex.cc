// SPDX-License-Identifier: MIT
// test-labels: checks
// Builds with debug checks say who waits for a lock of the operating system that a suspended goroutine holds, and who holds it.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>

#include <weft/weft.h>

#include "support/cases.h"

// check: not-in asan tsan
namespace {

using namespace weft::test;
using namespace std::chrono_literals;

void need_debug_checks() {
#ifdef NDEBUG
  skip("the library watches pthread mutexes in builds with debug checks only");
#endif
}

__attribute__((noinline)) int step(int x) {
  asm volatile("");
  return x * 3 + 1;
}

}  // namespace

// The holder sleeps. Its lock is free again some time: told, and all goes on.
// check: run WEFT_MAXPROCS=1 --case=holder_waits
// check: stderr ^weft: goroutine \d+ "wanting" waits, and its thread with it, for the pthread mutex at 0x[0-9a-f]+, which goroutine \d+ "holding" has locked and holds while it is suspended \(sleep\)$
// check: stderr No goroutine may wait or be preempted while it holds a lock
// check: stderr ^locked at$
// check: stderr ^ .*case_holder_waits
// check: stdout ^both had it$
// check: run WEFT_MAXPROCS=4 WEFT_POLICY=global --case=holder_waits
// check: stderr ^weft: goroutine \d+ "wanting" waits, .* which goroutine \d+ "holding" has locked
// check: stdout ^both had it$
WEFT_CASE(holder_waits) {
  need_debug_checks();
  weft::run([] {
    std::mutex mutex;
    weft::event locked;
    auto holding = weft::spawn({.name = "holding"}, [&] {
      const std::lock_guard guard(mutex);
      locked.set();
      weft::this_goroutine::sleep_for(100ms);
    });
    auto wanting = weft::spawn({.name = "wanting"}, [&] {
      locked.wait();
      const std::lock_guard guard(mutex);
    });
    holding.join();
    wanting.join();
    say("both had it");
  });
  return 0;
}

// The holder is preempted: at one P that is how the other comes to try. Told once, though it happens often.
// check: run WEFT_MAXPROCS=1 WEFT_SLICE=1 --case=holder_is_preempted
// check: stderr ^weft: goroutine \d+ "wanting" waits, .* which goroutine \d+ "holding" has locked and holds while it is suspended \(preempted, or has yielded\)$
// check: not-stderr (?s)weft: goroutine.*weft: goroutine
// check: stdout ^both had it$
// check: within 60
WEFT_CASE(holder_is_preempted) {
  need_debug_checks();
  weft::run([] {
    for (int round = 0; round < 30; ++round) {  // a busy machine may make an exile of it instead
      std::mutex mutex;
      std::atomic<bool> locked{false}, tries{false};
      auto holding = weft::spawn({.name = "holding"}, [&] {
        const std::lock_guard guard(mutex);
        locked = true;
        for (int x = 1; !tries;) x = step(x);
      });
      auto wanting = weft::spawn({.name = "wanting"}, [&] {
        while (!locked) weft::this_goroutine::yield();
        tries = true;
        const std::lock_guard guard(mutex);
      });
      holding.join();
      wanting.join();
    }
    say("both had it");
  });
  return 0;
}

// A holder that is merely slow, or lost its P as it computes on, is no reason to say anything.
// check: run WEFT_MAXPROCS=2 WEFT_SLICE=1 --case=holder_runs
// check: not-stderr pthread mutex
// check: stdout ^both had it$
WEFT_CASE(holder_runs) {
  weft::run([] {
    std::mutex mutex;
    std::atomic<bool> locked{false};
    auto holding = weft::spawn([&] {
      const std::lock_guard guard(mutex);
      locked = true;
      weft::blocking([] { usleep(50'000); });
      usleep(50'000);  // and the same unannounced
    });
    auto wanting = weft::spawn([&] {
      while (!locked) weft::this_goroutine::yield();
      const std::lock_guard guard(mutex);
    });
    holding.join();
    wanting.join();
    say("both had it");
  });
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=locked_twice
// check: exit SIGALRM
// check: stderr ^weft: goroutine \d+ "twice" waits, .* which it has locked itself$
WEFT_CASE(locked_twice) {
  need_debug_checks();
  alarm(2);
  weft::run([] {
    weft::spawn({.name = "twice"}, [] {
      std::mutex mutex;
      mutex.lock();
      mutex.lock();
    }).join();
  });
  return 0;
}

// check: run WEFT_MAXPROCS=2 --case=unlocked_elsewhere
// check: stderr ^weft: goroutine \d+ "wandering" unlocks the pthread mutex at 0x[0-9a-f]+ on thread \d+, but locked it on thread \d+: the mutex knows its owner
// check: stdout ^told$
// check: within 60
WEFT_CASE(unlocked_elsewhere) {
  need_debug_checks();
  weft::run([] {
    std::atomic<bool> stop{false};
    weft::wait_group group;
    for (int i = 0; i < 4; ++i)
      group.go([&] {
        while (!stop) weft::this_goroutine::yield();
      });
    weft::spawn({.name = "wandering"}, [] {
      pthread_mutexattr_t kind;
      pthread_mutexattr_init(&kind);
      pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
      for (bool refused = false; !refused;) {
        pthread_mutex_t mutex;
        pthread_mutex_init(&mutex, &kind);
        pthread_mutex_lock(&mutex);
        const pid_t before = gettid();
        for (int i = 0; i < 1000 && gettid() == before; ++i) weft::this_goroutine::sleep_for(100us);
        refused = pthread_mutex_unlock(&mutex) != 0;
      }
    }).join();
    stop = true;
    group.wait();
    say("told");
  });
  return 0;
}
