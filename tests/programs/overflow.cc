// SPDX-License-Identifier: MIT
// test-timeout: 120
// test-labels: qemu
// A stack that overflows is reported, with its limit, and nobody else's memory is touched (F17).
#include <alloca.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <weft/weft.h>

#include <netdb.h>
#include <cstdint>
#include <cstring>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "support/cases.h"
#include "support/waiting.h"

namespace {

using namespace weft::test;

__attribute__((noinline)) int function_that_recurses(int depth) {
  volatile char space[256];
  space[depth % 256] = static_cast<char>(depth);
  return depth < 0 ? 0 : function_that_recurses(depth + 1) + space[depth % 256];
}

// Computes for a while at the bottom.
__attribute__((noinline)) int depth_of(int depth, int seed) {
  volatile char space[128];
  space[depth % 128] = static_cast<char>(seed);
  if (depth == 0) {
    volatile int sum = 0;
    for (int i = 0; i < 3'000'000; ++i) sum = sum + space[i % 128];
    return 0;
  }
  return depth_of(depth - 1, seed) + 1 + 0 * space[depth % 128];
}

__attribute__((noinline)) int function_with_large_frame(std::size_t bytes) {
  auto* space = static_cast<volatile char*>(alloca(bytes));
  for (std::size_t i = 0; i < bytes; i += 1024) space[i] = 1;
  return space[0];
}

bool matches(std::size_t length) {
  static const std::regex pattern("(a|b)*c");
  return std::regex_match(std::string(length, 'a') + "c", pattern);
}

}  // namespace

// check: run WEFT_MAXPROCS=1 --case=recursion
// check: exit SIGSEGV,SIGABRT
// check: first-stderr fatal error: goroutine \d+ "deep": stack overflow
// check: stderr limit (8192|1024|256) KiB
// check: stderr function_that_recurses
// check: stderr WEFT_STACK_SIZE
// check: within 10
// check: run WEFT_MAXPROCS=2 WEFT_STACK_SIZE=64K --case=recursion
// check: exit SIGSEGV,SIGABRT
// check: first-stderr fatal error: goroutine \d+ "deep": stack overflow
// check: stderr limit 64 KiB
// check: run WEFT_MAXPROCS=4 WEFT_POLICY=global WEFT_STACK_SIZE=2M --case=recursion
// check: exit SIGSEGV,SIGABRT
// check: first-stderr fatal error: goroutine \d+ "deep": stack overflow
// check: stderr limit 2048 KiB
WEFT_CASE(recursion) {
  weft::run([] {
    for (int i = 0; i < 10; ++i)
      weft::go([] {
        for (;;) weft::this_goroutine::yield();
      });
    weft::event never;
    weft::go(weft::go_options{.name = "deep"}, [] { std::printf("%d\n", function_that_recurses(0)); });
    never.wait();
  });
  return 0;
}

// check: run --case=recursion_on_a_stack_of_its_own_size
// check: exit SIGSEGV,SIGABRT
// check: first-stderr fatal error: goroutine \d+: stack overflow
// check: stderr limit 1024 KiB
WEFT_CASE(recursion_on_a_stack_of_its_own_size) {
  weft::run([] {
    weft::go(weft::go_options{.stack_size = 1 << 20}, [] { std::printf("%d\n", function_that_recurses(0)); });
    weft::event().wait();
  });
  return 0;
}

// check: run --case=in_the_main_goroutine
// check: exit SIGSEGV,SIGABRT
// check: first-stderr fatal error: goroutine \d+: stack overflow
WEFT_CASE(in_the_main_goroutine) {
  weft::run([] { std::printf("%d\n", function_that_recurses(0)); });
  return 0;
}

// check: run --case=large_frame
// check: exit SIGSEGV,SIGABRT
// check: first-stderr fatal error: goroutine \d+: stack overflow
// check: stderr function_with_large_frame
// check: not-in aarch64
// Not without checks at entries: it begins beyond the guard.
WEFT_CASE(large_frame) {
  weft::run([] { std::printf("%d\n", function_with_large_frame(std::size_t{64} << 20)); });
  return 0;
}

// check: run --case=regex
// check: exit SIGSEGV,SIGABRT
// check: first-stderr fatal error: goroutine \d+: stack overflow
// check: stderr (regex|_Executor|std::__detail)
WEFT_CASE(regex) {
  weft::run([] { std::printf("%d\n", matches(200'000)); });
  return 0;
}

// The goroutine of run() survives what a thread does, another one an eighth of it. Sanitizers make frames up to five times
// as large.
// check: run --case=what_a_thread_survives
// check: stdout ^matched$
// check: within 30
// check: not-in aarch64
WEFT_CASE(what_a_thread_survives) {
  const std::size_t most = kSanitized ? 1600 : 8000;
  for (const std::size_t length : {most / 9, most / 2, most}) {
    bool in_thread = false;
    std::thread([&] { in_thread = matches(length); }).join();
    WEFT_EXPECT(in_thread);
    WEFT_EXPECT(weft::run([&] { return matches(length); }));
    WEFT_EXPECT(weft::run([&] { return weft::spawn([&] { return matches(length / 8); }).join(); }));
    WEFT_EXPECT(weft::run([&] { return weft::spawn({.stack_size = 8 << 20}, [&] { return matches(length); }).join(); }));
  }
  say("matched");
  return 0;
}

// Who has recursed deeply is asked to give way, too, by a signal whose handler looks at each frame: it gets on all the same.
// check: run WEFT_MAXPROCS=1 WEFT_SLICE=1 --case=deep_recursion_beside_others
// check: stdout ^there and back$
// check: within 15
// check: not-in asan tsan aarch64
WEFT_CASE(deep_recursion_beside_others) {
  weft::run([] {
    std::atomic<bool> stop{false};
    auto other = weft::spawn([&] {
      while (!stop) weft::this_goroutine::yield();
    });
    for (int i = 0; i < 100; ++i) WEFT_EXPECT(depth_of(25'000, i) == 25'000);
    stop = true;
    other.join();
  });
  say("there and back");
  return 0;
}

// check: run --case=what_fits_works
// check: stdout ^fine$
// check: within 30
WEFT_CASE(what_fits_works) {
  weft::run([] {
    WEFT_EXPECT(matches(kSanitized ? 20 : 100));  // sanitizers make frames many times as large
    WEFT_EXPECT(function_with_large_frame(100'000) == 1);
    weft::spawn(weft::go_options{.stack_size = std::size_t{64} << 20}, [] {
      WEFT_EXPECT(matches(kSanitized ? 4000 : 20'000));
    }).join();
    // What C libraries need: a resolver, a sort with a callback, formatted output of floating-point numbers.
    addrinfo* found = nullptr;
    weft::blocking([&] { static_cast<void>(getaddrinfo("localhost", "80", nullptr, &found)); });
    if (found != nullptr) freeaddrinfo(found);
    std::vector<int> numbers(10'000);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>((i * 7919) % numbers.size());
    qsort(numbers.data(), numbers.size(), sizeof(int), [](const void* a, const void* b) {
      weft::this_goroutine::yield();  // a callback from C may park
      return *static_cast<const int*>(a) - *static_cast<const int*>(b);
    });
    for (std::size_t i = 0; i < numbers.size(); ++i) WEFT_EXPECT(numbers[i] == static_cast<int>(i));
    char text[400];
    std::snprintf(text, sizeof text, "%.300Lf", 1.0L / 3);
    try {
      throw std::string(text);
    } catch (const std::string&) {
    }
  });
  say("fine");
  return 0;
}

namespace {

// Patterns on the stacks of neighbours, and where they are, for the process that watches.
struct Shared {
  static constexpr int kNeighbours = 64;
  static constexpr std::size_t kBytes = 8192;
  std::atomic<int> ready;
  void* pattern[kNeighbours];
};

void keep_pattern(Shared& shared, int index) {
  unsigned char pattern[Shared::kBytes];
  std::memset(pattern, 0x40 + index, sizeof pattern);
  shared.pattern[index] = pattern;
  ++shared.ready;
  asm volatile("" : : "r"(pattern) : "memory");
  weft::event().wait();
}

[[noreturn]] void overflow_among_neighbours(Shared& shared, bool large_frame) {
  weft::run({.maxprocs = 2}, [&] {
    for (int i = 0; i < Shared::kNeighbours / 2; ++i) weft::go([&shared, i] { keep_pattern(shared, i); });
    weft::event go_on;
    weft::go([&] {
      go_on.wait();
      std::printf("%d\n", large_frame ? function_with_large_frame(std::size_t{64} << 20) : function_that_recurses(0));
    });
    weft::this_goroutine::yield();
    for (int i = Shared::kNeighbours / 2; i < Shared::kNeighbours; ++i)
      weft::go([&shared, i] { keep_pattern(shared, i); });
    while (shared.ready < Shared::kNeighbours) weft::this_goroutine::yield();
    go_on.set();
    weft::this_goroutine::sleep_for(20s);
  });
  _exit(1);
}

int watch_overflow(bool large_frame) {
  auto* shared =
      static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kSkipped);
    raise(SIGSTOP);
    overflow_among_neighbours(*shared, large_frame);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) skip("tracing a child is not allowed here");
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
  ptrace(PTRACE_CONT, child, nullptr, nullptr);
  for (;;) {  // every thread of the child stops here before a signal reaches it
    const pid_t stopped = waitpid(-1, &status, __WALL);
    WEFT_EXPECT(stopped > 0);
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      WEFT_EXPECT(stopped != child);
      continue;
    }
    int signal = WSTOPSIG(status);
    if (signal == SIGSEGV) break;
    if (signal == SIGTRAP || signal == SIGSTOP) signal = 0;
    ptrace(PTRACE_CONT, stopped, nullptr, signal);
  }
  for (int i = 0; i < Shared::kNeighbours; ++i) {
    std::vector<unsigned char> seen(Shared::kBytes);
    const iovec local{seen.data(), seen.size()}, remote{shared->pattern[i], seen.size()};
    WEFT_EXPECT(process_vm_readv(child, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(seen.size()));
    for (const unsigned char byte : seen) WEFT_EXPECT(byte == 0x40 + i);
  }
  kill(child, SIGKILL);
  say("untouched");
  return 0;
}

}  // namespace

// check: run --case=neighbours_of_a_recursion
// check: stdout ^untouched$
// check: not-in asan tsan
WEFT_CASE(neighbours_of_a_recursion) { return watch_overflow(false); }

// check: run --case=neighbours_of_a_large_frame
// check: stdout ^untouched$
// check: not-in asan tsan
WEFT_CASE(neighbours_of_a_large_frame) { return watch_overflow(true); }
