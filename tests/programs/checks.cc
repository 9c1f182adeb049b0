// SPDX-License-Identifier: MIT
// test-labels: checks qemu
// Preempted at every single check (WEFT_DEBUG=preempt), a program computes what it always computes. Overflow is found by checks.
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <weft/weft.h>

#include "support/cases.h"

// The program's own, with checks, is what the runtime calls, too: with locks held, or a P in hand.
// (The sanitizers have theirs.)
#if !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
__attribute__((noinline)) void* operator new(std::size_t size) {
  void* memory = std::malloc(size);
  return memory != nullptr ? memory : throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

extern "C" void weft_goroutine_main();  // the runtime's: calls the goroutine, ends it, starts the next

namespace {

using namespace weft::test;

// Sorting, trees, strings, exceptions, formatted output: one number for all of it.
std::uint64_t compute(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int> numbers(400);
  for (int& number : numbers) number = static_cast<int>(random() % 1000);
  std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return a > b; });
  std::map<std::string, int> words;
  for (int number : numbers) ++words[std::to_string(number % 50)];
  std::uint64_t hash = 1469598103934665603u;
  for (const auto& [word, count] : words) {
    char text[64];
    const int length = std::snprintf(text, sizeof text, "%s=%d %.3f;", word.c_str(), count, count * 0.25);
    for (int i = 0; i < length; ++i) hash = (hash ^ static_cast<unsigned char>(text[i])) * 1099511628211u;
    try {
      if (count % 3 == 0) throw std::runtime_error(word);
    } catch (const std::runtime_error& error) {
      hash += static_cast<std::uint64_t>(error.what()[0]);
    }
  }
  return std::accumulate(numbers.begin(), numbers.end(), hash);
}

__attribute__((noinline)) int count_up(int from) {
  asm volatile("");
  return from == 10 ? 10 : count_up(from + 1);
}
std::atomic<int> handled{0}, moved{0};
void on_own_stack(int) {
  const pid_t here = gettid();
  ++handled;
  if (count_up(0) != 10 || gettid() != here) ++moved;
}

#if defined(__x86_64__)
constexpr greg_t kTrapFlag = 0x100;
constexpr int kStepsAtATime = 3000;

struct Stepping {
  int steps = 0, in_main = 0, gave_way = 0;
  int others = 0;  // turns of another goroutine
  bool was_in_main = false;
};
Stepping stepping;

bool is_in_main(const ucontext_t& context) {
  void* pc = reinterpret_cast<void*>(context.uc_mcontext.gregs[REG_RIP]);
  return _Unwind_FindEnclosingFunction(pc) == reinterpret_cast<void*>(&weft_goroutine_main);
}

// The handler of SIGTRAP. Raised once, it has the signal come after every instruction of this thread, whichever goroutine's, for a
// while: the flag is in those it returns to, not in its own.
void count_step(ucontext_t& context) {
  auto& flags = context.uc_mcontext.gregs[REG_EFL];
  flags |= kTrapFlag;
  if (++stepping.steps % kStepsAtATime == 0) flags &= ~kTrapFlag;
  stepping.was_in_main = is_in_main(context);
  stepping.in_main += stepping.was_in_main;
}

void check_at_each_instruction(int, siginfo_t*, void* context) {
  count_step(*static_cast<ucontext_t*>(context));
  const int before = stepping.others;
  WEFT_EXPECT(count_up(8) == 10);
  stepping.gave_way += stepping.others != before;
}

// The signal that asks for the P, before every instruction of weft_goroutine_main, once somebody wants it, and nowhere else.
void ask_at_each_instruction_of_main(int, siginfo_t*, void* raw) {
  auto& context = *static_cast<ucontext_t*>(raw);
  const bool was_in_main = stepping.was_in_main;
  count_step(context);
  sigaddset(&context.uc_sigmask, SIGURG);
  if (!stepping.was_in_main) return;
  const auto wanted_by = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (!was_in_main && std::chrono::steady_clock::now() < wanted_by) {
  }
  tgkill(getpid(), gettid(), SIGURG);
  sigdelset(&context.uc_sigmask, SIGURG);
}

// Goroutines that end, with others to run after them, stepped through.
void step_through_ends(void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action{};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  WEFT_EXPECT(sigaction(SIGTRAP, &action, nullptr) == 0);
  bool over = false;
  auto other = weft::spawn([&] {
    for (; !over; ++stepping.others) weft::this_goroutine::yield();
  });
  for (int round = 0; round < 10; ++round) {
    weft::wait_group group;
    for (int i = 0; i < 3; ++i) group.go([] { raise(SIGTRAP); });
    group.wait();
  }
  over = true;
  other.join();
}
#endif

__attribute__((noinline)) int recurse(int depth) {
  volatile char space[200];
  space[depth % 200] = static_cast<char>(depth);
  return depth < 0 ? 0 : recurse(depth + 1) + space[depth % 200];
}

}  // namespace

// check: run WEFT_MAXPROCS=1 WEFT_DEBUG=preempt --case=same_results
// check: stdout all the same
// check: run WEFT_MAXPROCS=2 WEFT_DEBUG=preempt --case=same_results
// check: stdout all the same
// check: run WEFT_MAXPROCS=4 WEFT_DEBUG=preempt WEFT_POLICY=global --case=same_results
// check: stdout all the same
WEFT_CASE(same_results) {
  std::vector<std::uint64_t> expected;
  for (unsigned seed = 0; seed < 16; ++seed) expected.push_back(compute(seed));
  weft::run([&] {
    bool same = true;
    std::vector<weft::task<std::uint64_t>> tasks;
    for (unsigned seed = 0; seed < 16; ++seed) tasks.push_back(weft::spawn([seed] { return compute(seed); }));
    for (unsigned seed = 0; seed < 16; ++seed) same &= tasks[seed].join() == expected[seed];
    std::puts(same ? "all the same" : "different");
    if (weft::runtime::read_stats().preempts_done < 10'000) std::puts("hardly preempted");
  });
  return 0;
}

// Whatever a library keeps of the thread while it calls back is still true afterwards: it goes on on that thread.
// check: run WEFT_MAXPROCS=4 WEFT_DEBUG=preempt --case=callbacks_keep_their_thread
// check: stdout ^kept
// There qsort_r is the program's own: the sanitizer's.
// check: not-in tsan
WEFT_CASE(callbacks_keep_their_thread) {
  struct Seen {
    pid_t thread = 0;
    int calls = 0, elsewhere = 0;
  };
  const auto compare = [](const void* a, const void* b, void* raw) {
    auto& seen = *static_cast<Seen*>(raw);
    const pid_t here = gettid();
    seen.elsewhere += seen.calls++ > 0 && seen.thread != here;
    seen.thread = here;
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  };
  weft::run([&] {
    std::atomic<int> calls{0}, elsewhere{0};
    weft::wait_group group;
    for (int g = 0; g < 8; ++g)
      group.go([&, g] {
        for (int round = 0; round < 10; ++round) {
          std::array<int, 100> numbers{};
          for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = (static_cast<int>(i) * 37 + g + round) % 100;
          Seen seen;
          qsort_r(numbers.data(), numbers.size(), sizeof numbers[0], compare, &seen);
          WEFT_EXPECT(std::is_sorted(numbers.begin(), numbers.end()));
          calls += seen.calls;
          elsewhere += seen.elsewhere;
        }
      });
    group.wait();
    WEFT_EXPECT(calls > 10'000);
    WEFT_EXPECT(weft::runtime::read_stats().preempts_done > 10'000);
    WEFT_EXPECT(elsewhere == 0);
    std::puts("kept");
  });
  return 0;
}

// What the runtime runs on the side (functions of timers and of contexts, tickers) gives way as everything else does.
// check: run WEFT_MAXPROCS=1 WEFT_DEBUG=preempt --case=helpers_of_the_runtime
// check: stdout ^all of them
// check: run WEFT_MAXPROCS=4 WEFT_DEBUG=preempt --case=helpers_of_the_runtime
// check: stdout ^all of them
WEFT_CASE(helpers_of_the_runtime) {
  using std::chrono::milliseconds;
  const std::uint64_t expected = compute(1);
  weft::run([&] {
    std::atomic<int> same{0};
    weft::wait_group group;
    const auto helper = [&] {
      same += compute(1) == expected;
      group.done();
    };
    std::vector<weft::timer> timers;
    auto [context, cancel] = weft::with_timeout(weft::context::background(), milliseconds(5));
    for (int i = 0; i < 10; ++i) {
      group.add(2);
      timers.push_back(weft::after_func(milliseconds(i), helper));
      weft::after_func(context, helper);
    }
    weft::ticker ticker(milliseconds(1));
    for (int i = 0; i < 10; ++i) WEFT_EXPECT(ticker.chan().recv());
    group.wait();
    WEFT_EXPECT(same == 20);
    WEFT_EXPECT(weft::runtime::read_stats().preempts_done > 1000);
  });
  say("all of them");
  return 0;
}

// A handler without SA_ONSTACK runs on the goroutine's stack, in the middle of the runtime as of anything else. Its checks are no
// place to give way: what the runtime holds there would stay held, and the mask of signals is the thread's.
// check: run WEFT_MAXPROCS=2 WEFT_DEBUG=preempt --case=handlers_on_a_goroutines_stack
// check: stdout ^undisturbed
// There a handler is called later, as any function is, without a frame to know it by.
// check: not-in tsan
WEFT_CASE(handlers_on_a_goroutines_stack) {
  struct sigaction action{};
  action.sa_handler = on_own_stack;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  std::atomic<bool> done{false};
  std::array<std::atomic<pid_t>, 4> threads{};
  std::thread sender([&] {
    for (std::size_t i = 0; !done; ++i) {
      const pid_t target = threads[i % threads.size()];
      if (target != 0) tgkill(getpid(), target, SIGUSR1);
      usleep(50);
    }
  });
  weft::run([&] {
    weft::mutex mutex;
    weft::wait_group group;
    weft::chan<int> numbers(1);
    long sum = 0, expected = 0;
    for (std::size_t g = 0; g < threads.size(); ++g)
      group.go([&, g] {
        for (int i = 0; i < 1000 || handled < 1000; ++i) {
          WEFT_EXPECT(count_up(0) == 10);
          threads[g] = gettid();
          numbers.send(i);
          std::lock_guard guard(mutex);
          expected += i;
          sum += *numbers.recv();
        }
        sigset_t blocked;
        pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        WEFT_EXPECT(sigismember(&blocked, SIGUSR1) == 0);
      });
    group.wait();
    WEFT_EXPECT(sum == expected);
    WEFT_EXPECT(weft::runtime::read_stats().preempts_done > 1000);
    // From here on they find threads without a goroutine.
    const int before = handled;
    while (handled < before + 100) weft::this_goroutine::sleep_for(std::chrono::milliseconds(5));
  });
  done = true;
  sender.join();
  WEFT_EXPECT(moved == 0);
  say("undisturbed");
  return 0;
}

// The same, everywhere a goroutine's end and the next one's start can be interrupted.
// check: run WEFT_MAXPROCS=1 WEFT_DEBUG=preempt WEFT_SLICE=10000 --case=handlers_at_every_instruction
// check: stdout ^undisturbed
// check: not-in tsan aarch64
WEFT_CASE(handlers_at_every_instruction) {
#if defined(__x86_64__)
  weft::run([] { step_through_ends(check_at_each_instruction); });
  WEFT_EXPECT(stepping.steps > kStepsAtATime);
  WEFT_EXPECT(stepping.in_main > 100);
  WEFT_EXPECT(stepping.gave_way == 0);
#endif
  say("undisturbed");
  return 0;
}

// The signal that takes the P of who computes finds the function that calls goroutines at work itself: with the P in its hands.
// check: run WEFT_MAXPROCS=1 WEFT_SLICE=1 WEFT_PREEMPT_SIGNAL=23 --case=requests_where_goroutines_end
// check: stdout ^undisturbed
// check: not-in tsan aarch64
WEFT_CASE(requests_where_goroutines_end) {
#if defined(__x86_64__)
  weft::run([] { step_through_ends(ask_at_each_instruction_of_main); });
  const weft::stats stats = weft::runtime::read_stats();
  WEFT_EXPECT(stepping.in_main > 100);
  WEFT_EXPECT(stats.preempts_refused > 10);
  WEFT_EXPECT(stats.exiles == 0);
#endif
  say("undisturbed");
  return 0;
}

// check: run WEFT_MAXPROCS=1 --case=overflow
// check: exit SIGSEGV,SIGABRT
// check: first-stderr fatal error: goroutine \d+: stack overflow
// check: stderr limit (8192|1024|256) KiB
// check: stderr recurse
WEFT_CASE(overflow) {
  weft::run([] { weft::spawn([] { return recurse(0); }).join(); });
  return 0;
}
