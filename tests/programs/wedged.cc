// SPDX-License-Identifier: MIT
// What a goroutine that computes for ever did to Go programs before preemption, by the issues its design document names (543, 4711,
// 5163, 5324; E16): each program wedges with WEFT_PREEMPT=off, and does not without. Nothing here is compiled with checks.
#include <weft/weft.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "support/cases.h"
#include "support/waiting.h"

namespace {

using namespace weft::test;

// Says so and ends the process if it has not ended by itself.
void call_it_wedged_after(Clock::duration limit) {
  std::thread([limit] {
    std::this_thread::sleep_for(limit);
    say("wedged");
    _exit(0);
  }).detach();
}

void loop_for_ever() {
  for (;;) asm volatile("");
}

// The limit is long where the program must end, and short where it must not.
template <class Program>
int ends(Program program) {
  const char* preempt = getenv("WEFT_PREEMPT");
  call_it_wedged_after(preempt != nullptr && std::strcmp(preempt, "off") == 0 ? Clock::duration(300ms) : 30s * kSlowdown);
  weft::run([&] {
    program();
    say("done");
    _exit(0);  // the loops would not let it end
  });
  return 0;
}

}  // namespace

// `go func() { for { } }` should not wedge the rest of the program, but did.
// check: run WEFT_MAXPROCS=1 --case=another_goroutine
// check: stdout ^done$
// check: run WEFT_MAXPROCS=1 WEFT_PREEMPT=off --case=another_goroutine
// check: stdout ^wedged$
WEFT_CASE(another_goroutine) {
  return ends([] {
    weft::go(loop_for_ever);
    for (int i = 0; i < 3; ++i) weft::this_goroutine::yield();
  });
}

// Timers do not fire.
// check: run WEFT_MAXPROCS=2 --case=timers
// check: stdout ^done$
// check: run WEFT_MAXPROCS=2 WEFT_PREEMPT=off --case=timers
// check: stdout ^wedged$
WEFT_CASE(timers) {
  return ends([] {
    auto soon = weft::after(20ms);
    weft::go(loop_for_ever);
    weft::go(loop_for_ever);
    soon.recv();
    weft::event called;
    weft::after_func(1ms, [&] { called.set(); });
    called.wait();
  });
}

// A collection has to stop the world, and waited for minutes.
// check: run WEFT_MAXPROCS=2 --case=stop_the_world
// check: stdout ^done$
// check: run WEFT_MAXPROCS=2 WEFT_PREEMPT=off --case=stop_the_world
// check: stdout ^wedged$
WEFT_CASE(stop_the_world) {
  return ends([] {
    std::atomic<bool> loops{false};
    weft::go([&] {
      loops = true;
      loop_for_ever();
    });
    while (!loops) weft::this_goroutine::yield();
    for (int i = 0; i < 3; ++i) weft::runtime::stop_the_world([] {});
  });
}

// As many loops as there are Ps wait for one that only yields to let the last of them start.
// check: run WEFT_MAXPROCS=4 --case=a_yielder
// check: stdout ^done$
WEFT_CASE(a_yielder) {
  return ends([] {
    const int count = weft::runtime::maxprocs();
    static std::atomic<int> started{0};
    for (int i = 0; i < count; ++i)
      weft::go([count] {
        ++started;
        while (started != count) asm volatile("");
      });
    while (started != count) weft::this_goroutine::yield();
  });
}
