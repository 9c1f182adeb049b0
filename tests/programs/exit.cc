// SPDX-License-Identifier: MIT
// test-timeout: 120
// The end of a process with goroutines in it: soon, and without races with static destructors (F26, F27).
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <weft/weft.h>

#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/cases.h"
#include "support/process.h"
#include "support/waiting.h"

namespace {

using namespace weft::test;

std::atomic<long> counter{0};
void (*at_destruction)() = nullptr;

// Constructed before main, so destroyed after what main's functions leave behind; and one of each primitive with it.
struct Statics {
  weft::mutex lock;
  weft::event never;
  weft::wait_group group;
  std::vector<int> data = std::vector<int>(1000, 1);
  ~Statics() {
    if (at_destruction != nullptr) at_destruction();
    data.clear();
    data.shrink_to_fit();
  }
} statics;

void expect_silence() {
  const long before = counter;
  usleep(50'000);
  WEFT_EXPECT(counter == before);  // a goroutine ran while statics were being destroyed
  say("silent");
}

void start_all_kinds() {
  for (int i = 0; i < 200; ++i) {
    weft::go([] {
      for (;;) {
        ++counter;
        for (const int one : statics.data) counter += one - 1;
        weft::this_goroutine::yield();
      }
    });
    weft::go([] {
      for (;;) {
        weft::this_goroutine::sleep_for(100us);
        ++counter;
      }
    });
    weft::go([] { statics.never.wait(); });
    weft::go([] {
      for (;;) {
        const std::lock_guard guard(statics.lock);
        ++counter;
        weft::this_goroutine::yield();
      }
    });
  }
  for (int i = 0; i < 4; ++i) {
    weft::go([] {
      for (;;) {
        weft::blocking([] { usleep(300); });
        ++counter;
      }
    });
    weft::go([] {
      const weft::os_thread_lock wired;
      for (;;) {
        weft::this_goroutine::sleep_for(200us);
        ++counter;
      }
    });
  }
  weft::this_goroutine::sleep_for(20ms);
}

// Runs the end of a process in a child and says how long it took from the call of exit to its being gone.
double seconds_to_exit(void (*prepare)()) {
  using Stamp = std::atomic<Clock::rep>;
  auto* stamp = static_cast<Stamp*>(mmap(nullptr, sizeof(Stamp), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = fork();
  if (child == 0) {
    weft::run({.maxprocs = 2}, prepare);
    *stamp = Clock::now().time_since_epoch().count();
    exit(0);
  }
  int status = 0;
  WEFT_EXPECT(waitpid(child, &status, 0) == child);
  const Clock::duration took = Clock::now().time_since_epoch() - Clock::duration(*stamp);
  WEFT_EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return std::chrono::duration<double>(took).count();
}

bool exits_in_time(void (*prepare)()) {
  double best = 1e9;
  for (int attempt = 0; attempt < 5 && best > 0.2; ++attempt) best = std::min(best, seconds_to_exit(prepare));
  std::printf("%.3f s\n", best);
  return best < 0.2 * kSlowdown;
}

}  // namespace

// check: run WEFT_MAXPROCS=1 --case=return_from_main
// check: stdout ^silent$
// check: repeat 3
// check: run WEFT_MAXPROCS=2 --case=return_from_main
// check: stdout ^silent$
// check: repeat 3
// check: run WEFT_MAXPROCS=4 WEFT_POLICY=global --case=return_from_main
// check: stdout ^silent$
// check: repeat 3
WEFT_CASE(return_from_main) {
  at_destruction = expect_silence;
  weft::run(start_all_kinds);
  return 0;
}

// check: run --case=return_without_run
// check: stdout ^silent$
WEFT_CASE(return_without_run) {
  at_destruction = expect_silence;
  for (int i = 0; i < 20; ++i)
    weft::go([] {
      for (;;) {
        ++counter;
        weft::this_goroutine::yield();
      }
    });
  usleep(10'000);
  return 0;
}

// check: run --case=exits_soon
// check: stdout s$
// check: within 30
WEFT_CASE(exits_soon) {
  WEFT_EXPECT(exits_in_time(start_all_kinds));
  WEFT_EXPECT(exits_in_time([] {  // calls that do not return
    for (int i = 0; i < 10; ++i) weft::go([] { weft::blocking([] { sleep(1000); }); });
    weft::this_goroutine::sleep_for(10ms);
  }));
  WEFT_EXPECT(exits_in_time([] {  // goroutines that do not give way
    weft::go([] {
      for (;;) asm volatile("");
    });
    weft::this_goroutine::sleep_for(10ms);
  }));
  WEFT_EXPECT(exits_in_time([] {  // many
    for (int i = 0; i < 50'000 / kSlowdown; ++i) weft::go([] { statics.never.wait(); });
    weft::this_goroutine::sleep_for(10ms);
  }));
  return 0;
}

// check: run --case=exit_from_a_goroutine
// check: exit 3
// check: stdout ^silent$
// check: stdout ^at exit$
// check: repeat 3
WEFT_CASE(exit_from_a_goroutine) {
  at_destruction = expect_silence;
  atexit([] { say("at exit"); });
  weft::run([] {
    start_all_kinds();
    weft::go([] { exit(3); });
    statics.never.wait();
  });
  return 0;
}

// check: run --case=exit_from_a_locked_goroutine
// check: exit 4
// check: stdout ^silent$
WEFT_CASE(exit_from_a_locked_goroutine) {
  at_destruction = expect_silence;
  weft::run([] {
    start_all_kinds();
    weft::go([] {
      weft::lock_os_thread();
      exit(4);
    });
    statics.never.wait();
  });
  return 0;
}

// check: run --case=exit_from_a_blocking_call
// check: exit 5
// check: stdout ^silent$
WEFT_CASE(exit_from_a_blocking_call) {
  at_destruction = expect_silence;
  weft::run([] {
    start_all_kinds();
    weft::go([] { weft::blocking([] { exit(5); }); });
    statics.never.wait();
  });
  return 0;
}

// check: run --case=exit_from_a_plain_thread
// check: exit 6
// check: stdout ^silent$
WEFT_CASE(exit_from_a_plain_thread) {
  at_destruction = expect_silence;
  std::thread([] {
    usleep(50'000);
    exit(6);
  }).detach();
  weft::run([] {
    start_all_kinds();
    statics.never.wait();
  });
  return 0;
}

// check: run --case=exit_while_the_world_is_being_stopped
// check: exit 7
// check: stdout ^silent$
// check: repeat 5
// check: within 10
WEFT_CASE(exit_while_the_world_is_being_stopped) {
  at_destruction = expect_silence;
  weft::run({.maxprocs = 4}, [] {
    start_all_kinds();
    weft::go([] {
      for (;;) {
        weft::runtime::stop_the_world([] { ++counter; });
        weft::this_goroutine::sleep_for(30us);
      }
    });
    weft::go([] {
      for (int n = 1;; n = n % 4 + 1) {
        weft::runtime::set_maxprocs(n);
        weft::this_goroutine::sleep_for(50us);
      }
    });
    weft::this_goroutine::sleep_for(20ms);
    exit(7);
  });
  return 0;
}

// check: run --case=exit_inside_stop_the_world
// check: exit 8
// check: within 10
WEFT_CASE(exit_inside_stop_the_world) {
  weft::run([] {
    start_all_kinds();
    weft::runtime::stop_the_world([] { exit(8); });
  });
  return 0;
}

// check: run --case=exit_twice
// check: exit 9
// check: within 10
WEFT_CASE(exit_twice) {
  atexit([] { exit(9); });
  weft::run([] {
    start_all_kinds();
    exit(1);
  });
  return 0;
}

// check: run --case=quick_exit
// check: exit 10
// check: stdout ^at quick exit$
// check: not-stdout silent
WEFT_CASE(quick_exit) {
  at_destruction = expect_silence;
  at_quick_exit([] { say("at quick exit"); });
  weft::run([] {
    start_all_kinds();
    weft::go([] { std::quick_exit(10); });
    statics.never.wait();
  });
  return 0;
}

// check: run --case=the_main_thread_ends_alone
// check: exit 11
// check: stdout ^goroutines go on$
WEFT_CASE(the_main_thread_ends_alone) {
  weft::go([] {
    weft::this_goroutine::sleep_for(200ms);
    say("goroutines go on");
    exit(11);
  });
  pthread_exit(nullptr);
}

// check: run --case=value_of_run
// check: exit 12
WEFT_CASE(value_of_run) {
  return weft::run([] { return 12; });
}

// check: run --case=exception_of_run
// check: exit 13
WEFT_CASE(exception_of_run) {
  try {
    weft::run([] { throw std::runtime_error("caught in main"); });
  } catch (const std::runtime_error&) {
    return 13;
  }
  return 1;
}

// check: run --case=long_static_destruction
// check: stdout ^silent$
// check: within 15
WEFT_CASE(long_static_destruction) {
  // What watches over the runtime (stack trimming, idle checks) must not trip over destroyed objects.
  at_destruction = [] {
    usleep(4'000'000);
    expect_silence();
  };
  weft::run([] {
    weft::wait_group group;
    for (int i = 0; i < 5000; ++i) group.go([] { weft::this_goroutine::yield(); });
    for (int i = 0; i < 50; ++i) weft::spawn(weft::go_options{.stack_size = 1 << 20}, [] { weft::this_goroutine::yield(); }).join();
    group.wait();
  });
  return 0;
}

// check: run --case=static_destructor_uses_the_runtime
// check: stdout ^done$
// check: within 10
WEFT_CASE(static_destructor_uses_the_runtime) {
  at_destruction = [] {
    weft::go([] { ++counter; });  // accepted; it does not run any more
    statics.lock.lock();
    statics.lock.unlock();
    statics.never.set();
    statics.never.wait();
    WEFT_EXPECT(!statics.group.wait_for(0s) || true);
    weft::this_goroutine::sleep_for(1ms);
    weft::this_goroutine::yield();
    WEFT_EXPECT(weft::runtime::num_goroutines() >= 1);
    say("done");
  };
  weft::run([] { weft::go([] { statics.never.wait(); }); });
  return 0;
}

// check: run --case=static_destructor_joins
// check: stdout ^exiting: .*no goroutine runs any more
// check: within 10
WEFT_CASE(static_destructor_joins) {
  at_destruction = [] {
    try {
      weft::spawn([] { return 5; }).join();
      say("joined");
    } catch (const weft::logic_error& error) {
      say((std::string("exiting: ") + error.what()).c_str());
    }
    { weft::task<void> dropped = weft::spawn([] {}); }  // as a static task does: no wait for ever
  };
  weft::run([] {});
  return 0;
}

// check: run --case=static_destructor_waits
// check: exit 2
// check: first-stderr fatal error: weft: a thread waits while the process exits, and no goroutine runs any more to wake it
// check: within 10
WEFT_CASE(static_destructor_waits) {
  at_destruction = [] {
    statics.group.go([] {});
    statics.group.wait();
  };
  weft::run([] {});
  return 0;
}

// check: run --case=static_destructor_waits_after_exit_from_a_goroutine
// check: exit 2
// check: first-stderr fatal error: weft: a thread waits while the process exits, and no goroutine runs any more to wake it
// check: within 10
WEFT_CASE(static_destructor_waits_after_exit_from_a_goroutine) {
  at_destruction = [] { statics.never.wait(); };
  weft::run([] {
    start_all_kinds();
    exit(0);
  });
  return 0;
}

// check: run --case=static_destructor_is_woken_by_a_thread
// check: stdout ^woken$
WEFT_CASE(static_destructor_is_woken_by_a_thread) {
  at_destruction = [] {
    std::thread([] {
      usleep(1'000'000);
      statics.never.set();
    }).detach();
    statics.never.wait();
    say("woken");
  };
  weft::run([] {
    start_all_kinds();
    exit(0);
  });
  return 0;
}

// check: run --case=static_destructors_after_exit_from_a_goroutine_let_nobody_run
// check: stdout ^silent$
WEFT_CASE(static_destructors_after_exit_from_a_goroutine_let_nobody_run) {
  at_destruction = [] {
    const long before = counter;
    for (int i = 0; i < 20; ++i) {
      weft::this_goroutine::yield();
      weft::this_goroutine::sleep_for(1ms);
      WEFT_EXPECT(!statics.never.wait_for(1ms));
      weft::blocking([] { usleep(100); });
    }
    WEFT_EXPECT(counter == before);
    say("silent");
  };
  weft::run([] {
    start_all_kinds();
    exit(0);
  });
  return 0;
}

namespace {
std::atomic<int> thread_locals_destroyed{0};
struct UsesRuntimeWhenDestroyed {
  bool armed = false;
  ~UsesRuntimeWhenDestroyed() {
    if (!armed) return;
    WEFT_EXPECT(weft::this_goroutine::get_id() == weft::goroutine_id());
    weft::wait_group group;
    group.go([] { weft::this_goroutine::yield(); });
    group.wait();
    WEFT_EXPECT(weft::spawn([] { return 3; }).join() == 3);
    weft::this_goroutine::sleep_for(1ms);
    ++thread_locals_destroyed;
  }
};
thread_local UsesRuntimeWhenDestroyed uses_runtime_when_destroyed;
weft::goroutine_local<std::string> local_text;
struct UsesLocalWhenDestroyed {
  bool armed = false;
  ~UsesLocalWhenDestroyed() {
    if (!armed) return;
    *local_text = std::string(1000, 'x');
    WEFT_EXPECT(local_text->size() == 1000);
    ++thread_locals_destroyed;
  }
};
thread_local UsesLocalWhenDestroyed uses_local_when_destroyed;
}  // namespace

// check: run --case=thread_local_destructors_use_the_runtime
// check: stdout ^done$
WEFT_CASE(thread_local_destructors_use_the_runtime) {
  weft::run([] {
    // A thread of the runtime ends with the goroutine that was locked to it.
    for (int i = 0; i < 10; ++i) {
      weft::wait_group group;
      group.go([] {
        weft::lock_os_thread();
        uses_runtime_when_destroyed.armed = true;
      });
      group.wait();
    }
    WEFT_EXPECT(spin_until([] { return thread_locals_destroyed == 10; }));
  });
  for (int i = 0; i < 10; ++i) std::thread([] { uses_runtime_when_destroyed.armed = true; }).join();
  WEFT_EXPECT(thread_locals_destroyed == 20);
  say("done");
  return 0;
}

// check: run --case=thread_local_destructors_use_goroutine_locals
// check: stdout ^done$
WEFT_CASE(thread_local_destructors_use_goroutine_locals) {
  for (int i = 0; i < 10; ++i) {
    std::thread([] {
      uses_local_when_destroyed.armed = true;  // constructed before the thread's locals: destroyed after them
      *local_text = "thread";
    }).join();
  }
  WEFT_EXPECT(thread_locals_destroyed == 10);
  say("done");
  return 0;
}
