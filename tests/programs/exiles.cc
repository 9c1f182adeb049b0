// SPDX-License-Identifier: MIT
// test-labels: qemu
// Goroutines that lost their P and compute on as plain threads: how many there may be, and what the end of the process makes of them.
#include <signal.h>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <weft/weft.h>

#include "support/cases.h"

namespace {

using namespace weft::test;
using namespace std::chrono_literals;

std::atomic<bool> over{false};
std::atomic<int> came_back{0};
void (*at_destruction)() = nullptr;

struct Statics {
  ~Statics() {
    if (at_destruction != nullptr) at_destruction();
  }
} statics;

// No call, no check.
void compute_until(const std::atomic<bool>& flag) {
  while (!flag.load(std::memory_order_relaxed)) asm volatile("");
}

// So many that compute until it is over, and come back then.
void start_exiles(unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    weft::go([] {
      compute_until(over);
      weft::this_goroutine::yield();
      ++came_back;
    });
  while (weft::runtime::read_stats().exiles < count) weft::this_goroutine::sleep_for(1ms);
}

std::atomic<bool> in_handler{false}, seen_in_handler{false};
void compute_in_handler(int) {
  in_handler = true;
  compute_until(seen_in_handler);
}

int become_exile_behind_handler(int flags_of_handler) {
  struct sigaction action{};
  action.sa_handler = compute_in_handler;
  action.sa_flags = flags_of_handler;
  WEFT_EXPECT(sigaction(SIGUSR1, &action, nullptr) == 0);
  std::atomic<bool> others_ran{false};
  std::thread observer([&] {  // outside: goroutines that could look on have no P
    while (!in_handler) std::this_thread::sleep_for(1ms);
    const std::uint64_t refused = weft::runtime::read_stats().preempts_refused;
    while (weft::runtime::read_stats().preempts_refused < refused + 5 && !others_ran) std::this_thread::sleep_for(1ms);
    WEFT_EXPECT(!others_ran);
    WEFT_EXPECT(weft::runtime::read_stats().exiles == 0);
    seen_in_handler = true;
  });
  weft::run([&] {
    auto hog = weft::spawn([&] {
      weft::go([&] { others_ran = true; });
      raise(SIGUSR1);
      compute_until(others_ran);
    });
    hog.join();
  });
  observer.join();
  WEFT_EXPECT(weft::runtime::read_stats().exiles > 0);
  say("not before");
  return 0;
}

}  // namespace

// Half of the threads may be exiles. Hogs beyond that keep their Ps, who waits behind them waits, and in the end all have run.
// check: run WEFT_MAXPROCS=2 WEFT_MAX_THREADS=12 WEFT_SLICE=1 --case=are_bounded
// check: stdout ^bounded$
// check: within 60
// check: run WEFT_MAXPROCS=4 WEFT_MAX_THREADS=12 WEFT_SLICE=1 WEFT_POLICY=global --case=are_bounded
// check: stdout ^bounded$
// check: within 60
WEFT_CASE(are_bounded) {
  constexpr std::uint64_t kLimit = 6, kThreads = 12;
  std::atomic<bool> enough{false};
  std::atomic<int> ended{0};
  std::thread observer([&] {  // outside: goroutines that could look on have no P
    while (weft::runtime::read_stats().exiles < kLimit) std::this_thread::sleep_for(1ms);
    for (int i = 0; i < 300; ++i) {  // slices go on ending, 1 ms each
      const weft::stats stats = weft::runtime::read_stats();
      WEFT_EXPECT(stats.exiles == kLimit);  // nobody has come back yet: all there ever were
      WEFT_EXPECT(stats.threads <= kThreads);
      std::this_thread::sleep_for(1ms);
    }
    enough = true;
  });
  // From outside, too: a goroutine that starts them may become an exile on its way to the wait, and is one that comes back.
  weft::wait_group group;
  for (int i = 0; i < 30; ++i)
    group.go([&] {
      compute_until(enough);
      ++ended;
    });
  group.wait();
  observer.join();
  WEFT_EXPECT(ended == 30);
  say("bounded");
  return 0;
}

// Who is in a handler of a signal, on whichever stack, keeps its P until the handler has returned: it is in the middle of anything.
// check: run WEFT_MAXPROCS=1 WEFT_SLICE=1 --case=are_not_made_in_handlers
// check: stdout ^not before$
// There a handler is called as any function is, without a frame to know it by.
// check: not-in tsan
WEFT_CASE(are_not_made_in_handlers) { return become_exile_behind_handler(0); }

// check: run WEFT_MAXPROCS=1 WEFT_SLICE=1 --case=are_not_made_in_handlers_on_their_own_stack
// check: stdout ^not before$
// check: not-in tsan
WEFT_CASE(are_not_made_in_handlers_on_their_own_stack) { return become_exile_behind_handler(SA_ONSTACK); }

// check: run WEFT_MAXPROCS=2 WEFT_SLICE=1 --case=do_not_keep_main_from_returning
// check: stdout ^leaving$
// check: exit 0
// check: repeat 5
WEFT_CASE(do_not_keep_main_from_returning) {
  weft::run([] { start_exiles(4); });
  say("leaving");
  return 0;
}

// check: run WEFT_MAXPROCS=1 WEFT_SLICE=1 --case=do_not_keep_a_goroutine_from_ending_the_process
// check: exit 3
// check: repeat 5
WEFT_CASE(do_not_keep_a_goroutine_from_ending_the_process) {
  weft::run([] {
    start_exiles(4);
    std::exit(3);
  });
  return 0;
}

// check: run WEFT_MAXPROCS=2 WEFT_SLICE=1 --case=may_end_the_process
// check: exit 4
// check: repeat 5
WEFT_CASE(may_end_the_process) {
  weft::run([] {
    std::atomic<bool> now{false};
    auto last = weft::spawn([&] {
      compute_until(now);
      std::exit(4);
    });
    start_exiles(4);
    while (weft::runtime::read_stats().exiles < 5) weft::this_goroutine::sleep_for(1ms);
    now = true;
    last.join();
  });
  return 0;
}

// Static destructors run beside them: who comes back to the runtime now goes no further.
// check: run WEFT_MAXPROCS=2 WEFT_SLICE=1 --case=that_come_back_during_the_end_go_no_further
// check: stdout ^silent$
// check: exit 0
// check: repeat 3
WEFT_CASE(that_come_back_during_the_end_go_no_further) {
  at_destruction = [] {
    over = true;
    usleep(50'000);
    say(came_back == 0 ? "silent" : "somebody ran");
  };
  weft::run([] { start_exiles(4); });
  return 0;
}

// check: run WEFT_MAXPROCS=2 WEFT_SLICE=1 --case=do_not_delay_an_abort
// check: exit SIGABRT
WEFT_CASE(do_not_delay_an_abort) {
  weft::run([] {
    start_exiles(4);
    std::abort();
  });
  return 0;
}
