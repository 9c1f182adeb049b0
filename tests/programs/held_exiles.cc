// SPDX-License-Identifier: MIT
// test-timeout: 120
// Goroutines that lost their P and compute on are held where they must not run: while others use the Ps up to
// maxprocs, while the world is stopped, and from the beginning of the exit on. The same for goroutines in system
// calls that nobody announced.
#include <sys/socket.h>
#include <unistd.h>
#include <weft/weft.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/cases.h"

namespace {

using namespace weft::test;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kHogs = 6;
std::atomic<bool> over{false};
struct alignas(64) Rounds {
  std::atomic<long> count{0};
};
std::array<Rounds, 16> rounds;
std::array<int, 2> ends;  // of a stream that somebody feeds

long all_rounds() {
  long sum = 0;
  for (const Rounds& each : rounds) sum += each.count.load(std::memory_order_relaxed);
  return sum;
}

// What goroutines do without ever calling the runtime, a hundred microseconds at a time.
void spin() {
  for (int i = 0; i < 10'000; ++i) asm volatile("");
}
void read_clock() {
  const auto end = Clock::now() + 100us;
  while (Clock::now() < end) asm volatile("");
}
void allocate() {
  for (int i = 0; i < 200; ++i) {
    std::vector<std::string> texts(4, std::string(static_cast<std::size_t>(100 + i), 'x'));
    asm volatile("" : : "r"(texts.data()) : "memory");
  }
}
void write_file() {
  static std::FILE* const nowhere = std::fopen("/dev/null", "w");
  for (int i = 0; i < 200; ++i) std::fprintf(nowhere, "line %d\n", i);
}
void throw_and_catch() {
  try {
    throw std::string("thrown");
  } catch (const std::string&) {
  }
}
void sleep_plainly() { usleep(100); }
void read_plainly() {
  char byte = 0;
  if (read(ends[0], &byte, 1) != 1) std::abort();
}

struct Kind {
  const char* name;
  void (*step)();
};
constexpr Kind kKinds[] = {{"spin", spin},        {"clock", read_clock},      {"malloc", allocate},
                           {"stdio", write_file}, {"throw", throw_and_catch}, {"usleep", sleep_plainly},
                           {"read", read_plainly}};

// KIND in the environment.
Kind kind() {
  const char* name = std::getenv("KIND");
  for (const Kind& each : kKinds)
    if (name != nullptr && std::strcmp(each.name, name) == 0) return each;
  skip("no KIND");
}

void start(int count, void (*step)()) {
  for (int i = 0; i < count; ++i)
    weft::go([i, step] {
      while (!over.load(std::memory_order_relaxed)) {
        step();
        rounds[static_cast<std::size_t>(i)].count.fetch_add(1, std::memory_order_relaxed);
      }
    });
}

// Two goroutines of the kind, without Ps where it has none to give back.
void start_kind() {
  WEFT_EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  std::thread([] {
    const std::string bytes(4, 'x');
    while (write(ends[1], bytes.data(), bytes.size()) > 0) usleep(200);
  }).detach();
  start(2, kind().step);
  const auto limit = Clock::now() + 10s;
  while (all_rounds() < 100 && Clock::now() < limit) weft::this_goroutine::sleep_for(1ms);
  weft::this_goroutine::sleep_for(30ms);  // slices end, calls are noticed
}

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Those of the runtime that run goroutines: running, or waiting for a CPU.
int threads_that_want_a_cpu() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string line;
    std::getline(std::ifstream(task.path() / "stat"), line);
    count += line.find("(weft-m) R") != std::string::npos ? 1 : 0;
  }
  return count;
}

long ran_in_destructors = -1;
struct Statics {
  std::map<int, std::string> table;
  ~Statics() {
    if (ran_in_destructors < 0) return;
    const long before = all_rounds();
    std::vector<void*> blocks;  // malloc and stdio work: nobody was stopped with their locks
    for (int i = 0; i < 40; ++i) {
      usleep(500);
      blocks.push_back(std::malloc(static_cast<std::size_t>(1000 * i + 1)));
      std::fprintf(stderr, ".");
    }
    for (void* block : blocks) std::free(block);
    ran_in_destructors = all_rounds() - before;
    std::printf("%s %ld\n", ran_in_destructors == 0 ? "silent" : "others ran", ran_in_destructors);
    std::fflush(stdout);
  }
} statics;

}  // namespace

// check: run WEFT_MAXPROCS=1 --case=use_no_more_than_maxprocs
// check: stdout ^within maxprocs$
// check: not-in tsan
// check: not-in asan
// check: run WEFT_MAXPROCS=1 WEFT_POLICY=global --case=use_no_more_than_maxprocs
// check: stdout ^within maxprocs$
// check: not-in tsan
// check: not-in asan
// check: run WEFT_MAXPROCS=2 WEFT_SLICE=3 --case=use_no_more_than_maxprocs
// check: stdout ^within maxprocs$
// Most of what these loops do there is code of the sanitizer, in which nobody is held.
// check: not-in tsan
// check: not-in asan
WEFT_CASE(use_no_more_than_maxprocs) {
  start(kHogs, spin);
  std::this_thread::sleep_for(300ms);
  const long before = all_rounds();
  double cores = 0;
  double wanted = 0;
  constexpr int kWindows = 15, kLooks = 20;
  for (int i = 0; i < kWindows; ++i) {
    const auto begin = Clock::now();
    const double used = cpu_seconds();
    for (int look = 0; look < kLooks; ++look) {
      std::this_thread::sleep_for(5ms);
      wanted += threads_that_want_a_cpu();
    }
    cores += (cpu_seconds() - used) / seconds_since(begin);
  }
  std::printf("%.2f cores used, %.2f wanted, in windows of 100 ms\n", cores / kWindows, wanted / kWindows / kLooks);
  std::fflush(stdout);
  WEFT_EXPECT(cores / kWindows <= weft::runtime::maxprocs() + 0.1);
  // On a machine that others use there is less to be had; what is wanted of it shows all the same.
  WEFT_EXPECT(wanted / kWindows / kLooks <= weft::runtime::maxprocs() + 0.4);
  WEFT_EXPECT(all_rounds() > before);
  say("within maxprocs");
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=take_turns
// check: stdout ^all had turns$
// check: run WEFT_MAXPROCS=2 WEFT_POLICY=global WEFT_SLICE=2 --case=take_turns
// check: stdout ^all had turns$
WEFT_CASE(take_turns) {
  start(kHogs, spin);
  std::array<long, kHogs> seen{};
  int turns = 0;
  const auto limit = Clock::now() + 30s;
  while (turns < 5 && Clock::now() < limit) {  // each has moved so often, each time since all had
    std::this_thread::sleep_for(1ms);
    bool all_moved = true;
    for (std::size_t i = 0; i < kHogs; ++i) all_moved &= rounds[i].count.load(std::memory_order_relaxed) > seen[i];
    if (!all_moved) continue;
    for (std::size_t i = 0; i < kHogs; ++i) seen[i] = rounds[i].count.load(std::memory_order_relaxed);
    ++turns;
  }
  WEFT_EXPECT(turns == 5);
  say("all had turns");
  return 0;
}

// Neither side starves: those that give way again and again, and those that never do.
// check: run WEFT_MAXPROCS=1 --case=share_with_goroutines_that_give_way
// check: stdout ^shared$
// check: run WEFT_MAXPROCS=2 WEFT_SLICE=2 --case=share_with_goroutines_that_give_way
// check: stdout ^shared$
WEFT_CASE(share_with_goroutines_that_give_way) {
  std::atomic<long> yields{0};
  for (int i = 0; i < 4; ++i)
    weft::go([&] {
      for (;;) {
        spin();
        ++yields;
        weft::this_goroutine::yield();
      }
    });
  start(2, spin);
  const auto limit = Clock::now() + 30s;
  long seen_yields = yields, seen_rounds = all_rounds();
  int turns = 0;
  while (turns < 10 && Clock::now() < limit) {
    std::this_thread::sleep_for(1ms);
    if (yields == seen_yields || all_rounds() == seen_rounds) continue;
    seen_yields = yields;
    seen_rounds = all_rounds();
    ++turns;
  }
  WEFT_EXPECT(turns == 10);
  say("shared");
  _exit(0);
}

// A goroutine keeps its P in a region without preemption and wants a lock that a held one has: that one gets on
// although there is no P for it.
// check: run WEFT_MAXPROCS=1 WEFT_SLICE=2 --case=with_a_lock_get_on
// check: stdout ^locked 20 times$
// check: within 60
WEFT_CASE(with_a_lock_get_on) {
  std::mutex mutex;
  std::atomic<bool> holds{false};
  weft::run([&] {
    weft::go([&] {
      for (;;) {
        mutex.lock();
        holds = true;
        for (int i = 0; i < 200; ++i) spin();
        holds = false;
        mutex.unlock();
        for (int i = 0; i < 10; ++i) spin();
      }
    });
    for (int i = 0; i < 20; ++i) {
      const auto limit = Clock::now() + 1s;
      while (!holds && Clock::now() < limit) weft::this_goroutine::sleep_for(500us);
      const weft::no_preempt region;
      while (!mutex.try_lock()) asm volatile("");
      mutex.unlock();
    }
    say("locked 20 times");
    _exit(0);
  });
  return 0;
}

// check: run KIND=spin WEFT_MAXPROCS=2 --case=stand_still_while_the_world_is_stopped
// check: stdout ^still$
// check: run KIND=spin WEFT_MAXPROCS=1 --case=stand_still_while_the_world_is_stopped
// check: stdout ^still$
// check: run KIND=clock WEFT_MAXPROCS=2 --case=stand_still_while_the_world_is_stopped
// check: stdout ^still$
// check: run KIND=malloc WEFT_MAXPROCS=2 --case=stand_still_while_the_world_is_stopped
// check: stdout ^still$
// check: run KIND=throw WEFT_MAXPROCS=2 --case=stand_still_while_the_world_is_stopped
// check: stdout ^still$
// check: run KIND=stdio WEFT_MAXPROCS=2 --case=stand_still_while_the_world_is_stopped
// check: stdout ^still$
// check: run KIND=usleep WEFT_MAXPROCS=2 --case=stand_still_while_the_world_is_stopped
// check: stdout ^still$
// check: run KIND=usleep WEFT_MAXPROCS=1 WEFT_SLICE=1 --case=stand_still_while_the_world_is_stopped
// check: stdout ^still$
// check: run KIND=read WEFT_MAXPROCS=2 WEFT_POLICY=global --case=stand_still_while_the_world_is_stopped
// check: stdout ^still$
// check: not-in tsan
// check: not-in asan
WEFT_CASE(stand_still_while_the_world_is_stopped) {
  weft::run([] {
    start_kind();
    for (int i = 0; i < 25; ++i) {
      weft::this_goroutine::sleep_for(3ms);
      const long ran = weft::runtime::stop_the_world([] {
        const long before = all_rounds();
        const auto end = Clock::now() + 4ms;
        while (Clock::now() < end) {
          allocate();  // nobody was stopped with malloc's locks
          write_file();
        }
        return all_rounds() - before;
      });
      WEFT_EXPECT(ran == 0);
    }
    const long before = all_rounds();
    const auto limit = Clock::now() + 10s;
    while (all_rounds() == before && Clock::now() < limit) weft::this_goroutine::sleep_for(1ms);
    WEFT_EXPECT(all_rounds() > before);  // and go on afterwards
    say("still");
    _exit(0);
  });
  return 0;
}

// An exile that loops over announced calls is in them nearly all the time, and needs a P to come back: a stop of the world
// does not wait for it.
// check: run WEFT_MAXPROCS=2 --case=that_announce_calls_hold_no_stop_up
// check: run WEFT_MAXPROCS=1 --case=that_announce_calls_hold_no_stop_up
// check: stdout ^stops were short, [1-9]\d* calls
// check: within 60
WEFT_CASE(that_announce_calls_hold_no_stop_up) {
  weft::run([] {
    std::atomic<bool> announces{false};
    std::atomic<long> calls{0};
    weft::wait_group group;
    group.go([&] {
      for (const auto end = Clock::now() + 100ms; Clock::now() < end;) spin();  // long enough to lose its P
      announces = true;
      while (!over) {
        weft::blocking([] { usleep(300); });
        ++calls;
      }
    });
    while (!announces) weft::this_goroutine::yield();
    std::chrono::nanoseconds longest{0};
    for (int i = 0; i < 20; ++i) {
      weft::this_goroutine::sleep_for(2ms);
      const auto start = Clock::now();
      weft::runtime::stop_the_world([] {});
      longest = std::max<std::chrono::nanoseconds>(longest, Clock::now() - start);
    }
    over = true;
    group.wait();
    if (longest < 1s) std::printf("stops were short, %ld calls\n", calls.load());
    else std::printf("a stop took %.0f ms\n", static_cast<double>(longest.count()) / 1e6);
  });
  return 0;
}

// check: run KIND=spin WEFT_MAXPROCS=2 --case=stay_behind_at_the_exit
// check: stdout ^silent 0$
// check: repeat 3
// check: run KIND=spin WEFT_MAXPROCS=1 --case=stay_behind_at_the_exit
// check: stdout ^silent 0$
// check: repeat 3
// check: run KIND=clock WEFT_MAXPROCS=2 --case=stay_behind_at_the_exit
// check: stdout ^silent 0$
// check: repeat 3
// check: run KIND=malloc WEFT_MAXPROCS=2 --case=stay_behind_at_the_exit
// check: stdout ^silent 0$
// check: repeat 3
// check: run KIND=stdio WEFT_MAXPROCS=2 --case=stay_behind_at_the_exit
// check: stdout ^silent 0$
// check: repeat 3
// check: run KIND=throw WEFT_MAXPROCS=2 --case=stay_behind_at_the_exit
// check: stdout ^silent 0$
// check: repeat 3
// check: run KIND=usleep WEFT_MAXPROCS=2 --case=stay_behind_at_the_exit
// check: stdout ^silent 0$
// check: repeat 3
// check: run KIND=read WEFT_MAXPROCS=1 --case=stay_behind_at_the_exit
// check: stdout ^silent 0$
// check: repeat 3
// check: not-in tsan
// check: not-in asan
WEFT_CASE(stay_behind_at_the_exit) {
  weft::run(start_kind);
  ran_in_destructors = 0;
  return 0;
}

// From a goroutine, and with those that have their P still.
// check: run KIND=spin WEFT_MAXPROCS=2 --case=stay_behind_when_a_goroutine_exits
// check: stdout ^silent 0$
// check: exit 3
// check: repeat 3
// check: run KIND=usleep WEFT_MAXPROCS=2 --case=stay_behind_when_a_goroutine_exits
// check: stdout ^silent 0$
// check: exit 3
// check: repeat 3
// check: not-in tsan
// check: not-in asan
WEFT_CASE(stay_behind_when_a_goroutine_exits) {
  weft::run([] {
    start_kind();
    start(2, kind().step);
    ran_in_destructors = 0;
    std::exit(3);
  });
  return 0;
}

// Reads what a static destructor destroys.
// check: run WEFT_MAXPROCS=2 --case=do_not_read_what_is_destroyed
// check: stdout ^silent 0$
// check: exit 0
// check: repeat 10
// check: not-in tsan
// check: not-in asan
WEFT_CASE(do_not_read_what_is_destroyed) {
  for (int i = 0; i < 20'000; ++i)
    statics.table[i] = "value number " + std::to_string(i) + ", long enough to be on the heap";
  start(2, [] {
    static std::atomic<unsigned> seed{1};
    const unsigned number = seed.fetch_add(2654435761u) >> 8;
    const auto found = statics.table.find(static_cast<int>(number % 20'000));
    if (found == statics.table.end() || found->second[0] != 'v') _exit(9);
  });
  usleep(60'000);
  ran_in_destructors = 0;
  return 0;
}
