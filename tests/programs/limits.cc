// SPDX-License-Identifier: MIT
// test-timeout: 180
// Systems that refuse: memory, threads, descriptors, system calls (F04-F07, F32, F36).
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <weft/weft.h>

#include <climits>
#include <cstdio>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "support/cases.h"
#include "support/process.h"
#include "support/seccomp.h"
#include "support/workload.h"

namespace {

using namespace weft::test;

void limit(int resource, rlim_t soft, rlim_t hard = RLIM_INFINITY) {
  rlimit current{};
  getrlimit(static_cast<__rlimit_resource_t>(resource), &current);
  const rlimit wanted{soft, std::min(hard, current.rlim_max)};
  WEFT_EXPECT(setrlimit(static_cast<__rlimit_resource_t>(resource), &wanted) == 0);
}

std::size_t address_space() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

// This program again, as another case, with the limits set here.
[[noreturn]] void start_again_as(const char* name) {
  char path[PATH_MAX] = {};
  WEFT_EXPECT(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  const std::string flag = std::string("--case=") + name;
  execl(path, path, flag.c_str(), nullptr);
  _exit(99);
}

}  // namespace

// check: run --case=plain
// check: stdout ^fine$
WEFT_CASE(plain) {
  weft::run({.maxprocs = 2}, [] { WEFT_EXPECT(mixed_workload()); });
  say("fine");
  return 0;
}

// check: run WEFT_MAXPROCS=1 WEFT_STACK_SIZE=256K --case=no_memory_for_stacks
// check: stdout ^done$
// check: not-in asan tsan
// check: within 120
// check: run WEFT_MAXPROCS=4 WEFT_POLICY=global WEFT_STACK_SIZE=256K --case=no_memory_for_stacks
// check: stdout ^done$
// check: not-in asan tsan
// check: within 40
WEFT_CASE(no_memory_for_stacks) {
  weft::run([] {
    WEFT_EXPECT(mixed_workload());
    limit(RLIMIT_AS, address_space() + 200'000'000);
    for (int round = 0; round < 3; ++round) {
      weft::event go_on;
      std::atomic<int> started{0}, ended{0};
      int spawned = 0;
      bool refused = false;
      // Each waits on a stack of its own: sooner or later there is none left, and who spawns hears of it.
      while (!refused && spawned < 1'000'000) {
        try {
          weft::go([&] {
            ++started;
            go_on.wait();
            ++ended;
          });
          ++spawned;
        } catch (const std::bad_alloc&) {
          refused = true;
        }
        if (spawned % 50 == 0) weft::this_goroutine::yield();
      }
      WEFT_EXPECT(refused);
      WEFT_EXPECT(spawned > 100);
      // Meanwhile the rest goes on.
      weft::this_goroutine::sleep_for(1ms);
      weft::blocking([] { usleep(100); });
      go_on.set();
      WEFT_EXPECT(spin_until([&] { return ended == spawned; }, 20s));
      WEFT_EXPECT(mixed_workload());  // and there is room again
    }
  });
  say("done");
  return 0;
}

// Where address space is limited from the start, stacks are small: there is room for as many as ever.
// check: run --case=little_address_space
// check: stdout ^fine with 5000$
// check: not-in asan tsan
WEFT_CASE(little_address_space) {
  limit(RLIMIT_AS, rlim_t{4} << 30);
  start_again_as("many_wait");
}
// check: run --case=many_wait
// check: stdout ^fine with 5000$
WEFT_CASE(many_wait) {
  constexpr int kCount = 5000;
  weft::run({.maxprocs = 2}, [] {
    weft::event go_on;
    weft::wait_group group;
    std::atomic<int> waiting{0};
    for (int i = 0; i < kCount; ++i) {
      group.go([&] {
        ++waiting;
        go_on.wait();
      });
      if (i % 50 == 0) weft::this_goroutine::yield();
    }
    WEFT_EXPECT(spin_until([&] { return waiting == kCount; }, 10s));
    go_on.set();
    group.wait();
    WEFT_EXPECT(mixed_workload());
  });
  say(("fine with " + std::to_string(kCount)).c_str());
  return 0;
}

// And deep recursion there ends at the small size, which the report names.
// check: run --case=overflow_in_little_address_space
// check: exit SIGSEGV,SIGABRT
// check: stderr ^fatal error: goroutine \d+: stack overflow
// check: stderr limit 256 KiB
// check: not-in asan tsan
WEFT_CASE(overflow_in_little_address_space) {
  limit(RLIMIT_AS, rlim_t{4} << 30);
  start_again_as("overflow");
}

// check: run --case=no_memory_for_a_large_stack
// check: stdout ^done$
// check: not-in asan tsan
WEFT_CASE(no_memory_for_a_large_stack) {
  weft::run([] {
    WEFT_EXPECT(mixed_workload());
    limit(RLIMIT_AS, address_space() + 100'000'000);
    // Refused where it is asked for, and nobody else is held up by it.
    const weft::go_options large{.stack_size = std::size_t{512} << 20};
    for (int i = 0; i < 3; ++i) {
      bool refused = false;
      try {
        weft::go(large, [] {});
      } catch (const std::bad_alloc&) {
        refused = true;
      }
      WEFT_EXPECT(refused);
      WEFT_EXPECT(weft::spawn([] { return 1; }).join() == 1);
    }
    limit(RLIMIT_AS, RLIM_INFINITY);
    WEFT_EXPECT(weft::spawn(large, [] { return 2; }).join() == 2);
    WEFT_EXPECT(mixed_workload());
  });
  say("done");
  return 0;
}

// check: run --case=no_thread_at_all
// check: exit 2
// check: first-stderr fatal error: weft: the system refuses to create the first thread.*
// check: within 5
WEFT_CASE(no_thread_at_all) {
  if (!deny({{SYS_clone3, EAGAIN}, {SYS_clone, EAGAIN}})) skip("no system call filters");
  weft::run([] {});
  return 0;
}

// (LeakSanitizer looks for leaks in a thread of its own, which is refused, too.)
// check: run ASAN_OPTIONS=detect_leaks=0 WEFT_MAXPROCS=2 --case=no_more_threads
// check: stdout ^done$
// check: first-stderr weft: the system refuses another thread .*
// check: not-stderr (?s)refuses another thread.*refuses another thread
// check: within 40
// check: run ASAN_OPTIONS=detect_leaks=0 WEFT_MAXPROCS=1 WEFT_POLICY=global --case=no_more_threads
// check: stdout ^done$
// check: within 40
WEFT_CASE(no_more_threads) {
  weft::run([] {
    WEFT_EXPECT(mixed_workload());
    if (!deny({{SYS_clone3, EAGAIN}, {SYS_clone, EAGAIN}})) skip("no system call filters");
    // More calls than threads: they queue.
    weft::wait_group group;
    std::atomic<int> calls{0};
    for (int i = 0; i < 100; ++i) {
      group.go([&] {
        weft::blocking([&] {
          usleep(2000);
          ++calls;
        });
      });
    }
    group.wait();
    WEFT_EXPECT(calls == 100);
    WEFT_EXPECT(mixed_workload());
  });
  say("done");
  return 0;
}

// check: run WEFT_MAXPROCS=4 --case=no_thread_but_the_first
// check: exit 2
// check: first-stderr fatal error: weft: the system refuses to create the first thread that could run goroutines.*
// check: within 10
WEFT_CASE(no_thread_but_the_first) {
  // The runtime is there, but has not started a single M yet when threads run out.
  weft::runtime::maxprocs();
  if (!deny({{SYS_clone3, EAGAIN}, {SYS_clone, EAGAIN}})) skip("no system call filters");
  weft::go([] { say("ran"); });
  usleep(5'000'000);
  say("silence");
  return 1;
}

// check: run --case=unlimited_thread_stacks
// check: stdout ^fine$
WEFT_CASE(unlimited_thread_stacks) {
  limit(RLIMIT_STACK, RLIM_INFINITY);
  start_again_as("plain");
}

// check: run --case=tiny_thread_stacks
// check: exit 0
// check: stdout ^fine$
// check: not-in asan tsan
WEFT_CASE(tiny_thread_stacks) {
  limit(RLIMIT_STACK, 64 * 1024);
  start_again_as("plain");
}

// check: run --case=few_descriptors
// check: stdout ^fine$
WEFT_CASE(few_descriptors) {
  limit(RLIMIT_NOFILE, 10);
  start_again_as("plain");
}

// (UBSan opens a pipe to see whether an object can be read; without descriptors it takes each for a broken one.)
// check: run --case=no_descriptors_left
// check: stdout ^done$
// check: not-in asan
WEFT_CASE(no_descriptors_left) {
  limit(RLIMIT_NOFILE, 3);
  weft::run({.maxprocs = 2}, [] { WEFT_EXPECT(mixed_workload()); });
  say("done");
  return 0;
}

// check: run --case=leaves_no_descriptors_open
// check: stdout ^done$
WEFT_CASE(leaves_no_descriptors_open) {
  weft::run({.maxprocs = 2}, [] {
    WEFT_EXPECT(mixed_workload());
    const int before = count_descriptors();
    for (int i = 0; i < 20; ++i) WEFT_EXPECT(mixed_workload());
    WEFT_EXPECT(count_descriptors() <= before + 2);
  });
  say("done");
  return 0;
}

// check: run --case=closed_standard_descriptors
// check: exit 0
WEFT_CASE(closed_standard_descriptors) {
  close(0);
  close(1);
  close(2);
  const bool fine = weft::run({.maxprocs = 2}, [] { return mixed_workload(); });
  if (!fine) _exit(1);
  // None of the runtime's own has landed there.
  for (int expected = 0; expected < 3; ++expected)
    if (open("/dev/null", O_RDWR) != expected) _exit(2 + expected);
  return 0;
}

// check: run --case=deadlock_without_standard_error
// check: exit 2
// check: within 5
WEFT_CASE(deadlock_without_standard_error) {
  close(0);
  close(1);
  close(2);
  weft::run([] { weft::event().wait(); });
  return 0;
}

// check: run --case=without_guard_advice
// check: stdout ^done$
// check: run --case=without_guard_advice_overflow
// check: exit SIGSEGV,SIGABRT
// check: stderr ^fatal error: goroutine \d+: stack overflow
// check: not-in asan tsan
namespace {
constexpr int kGuardInstall = 102;  // MADV_GUARD_INSTALL
bool deny_guard_advice() { return deny({{SYS_madvise, EINVAL, 2, kGuardInstall}, {SYS_process_madvise, EPERM}}); }
__attribute__((noinline)) int recurse(int depth) {
  volatile char space[256];
  space[depth % 256] = static_cast<char>(depth);
  return depth < 0 ? 0 : recurse(depth + 1) + space[depth % 256];
}
}  // namespace
// check: run --case=overflow
// check: exit SIGSEGV,SIGABRT
// check: stderr limit (8192|1024|256) KiB
// check: not-in asan tsan
WEFT_CASE(overflow) {
  weft::run([] { std::printf("%d\n", recurse(0)); });
  return 0;
}
WEFT_CASE(without_guard_advice) {
  if (!deny_guard_advice()) skip("no system call filters");
  weft::run({.maxprocs = 2}, [] {
    WEFT_EXPECT(mixed_workload());
    weft::event go_on;
    weft::wait_group group;
    for (int i = 0; i < 40'000 / kSlowdown; ++i) group.go([&] { go_on.wait(); });  // more than there can be guards
    weft::this_goroutine::yield();
    go_on.set();
    group.wait();
    WEFT_EXPECT(mixed_workload());
  });
  say("done");
  return 0;
}
WEFT_CASE(without_guard_advice_overflow) {
  if (!deny_guard_advice()) skip("no system call filters");
  weft::run({.maxprocs = 2}, [] { std::printf("%d\n", recurse(0)); });
  return 0;
}

// (ASan asks for each thread's stack, for which the C library wants the affinity.)
// check: run --case=without_affinity_and_names
// check: stdout ^done$
// check: not-in asan
WEFT_CASE(without_affinity_and_names) {
  if (!deny({{SYS_sched_setaffinity, EPERM},
             {SYS_sched_getaffinity, EPERM},
             {SYS_prctl, EINVAL, 0, PR_SET_TIMERSLACK},
             {SYS_prctl, EINVAL, 0, 0x53564d41},
             {SYS_membarrier, ENOSYS},
             {SYS_sched_yield, EPERM},
             {SYS_sigaltstack, EPERM}}))
    skip("no system call filters");
  weft::run([] {
    WEFT_EXPECT(mixed_workload());
    weft::runtime::set_maxprocs(4);
    WEFT_EXPECT(mixed_workload());
  });
  say("done");
  return 0;
}

// Locks of channels have become some M's own when the barrier by which others take them away is forbidden (sched/bias/paced_barrier.cc).
// check: run --case=without_barrier_from_now_on
// check: stdout ^done$
WEFT_CASE(without_barrier_from_now_on) {
  weft::run({.maxprocs = 2}, [] {
    std::vector<weft::chan<int>> channels;
    for (int i = 0; i < 8; ++i) channels.emplace_back(64);
    const auto use = [&](int rounds) {
      long sum = 0;
      for (int round = 0; round < rounds; ++round)
        for (auto& channel : channels) {
          channel.send(round);
          sum += *channel.recv();
        }
      return sum;
    };
    WEFT_EXPECT(use(5'000) == 8L * (5'000L * 4'999 / 2));
    if (!deny({{SYS_membarrier, EPERM}})) skip("no system call filters");
    long there = 0;
    std::thread other([&] { there = use(2'000); });
    weft::blocking([&] { other.join(); });
    WEFT_EXPECT(there == 8L * (2'000L * 1'999 / 2));
    WEFT_EXPECT(use(5'000) == 8L * (5'000L * 4'999 / 2));
    WEFT_EXPECT(mixed_workload());
  });
  say("done");
  return 0;
}

// check: run --case=without_proc
// check: stdout ^done$
// check: not-in asan tsan
WEFT_CASE(without_proc) {
  if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("none", "/proc", "tmpfs", 0, nullptr) != 0)
    skip("only root can hide /proc");
  weft::run([] {
    WEFT_EXPECT(mixed_workload());
    std::atomic<bool> dumped{false};
    weft::runtime::dump(*std::make_unique<std::ofstream>("/dev/null"));
    dumped = true;
    WEFT_EXPECT(dumped);
  });
  say("done");
  return 0;
}
