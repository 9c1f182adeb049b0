// SPDX-License-Identifier: MIT
// test-labels: checks
// Preempted at every single check (WEFT_DEBUG=preempt), a program computes what it always computes. Overflow is found by checks.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/weft.h>

#include "support/cases.h"

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

// check: run WEFT_MAXPROCS=1 --case=overflow
// check: exit SIGSEGV,SIGABRT
// check: first-stderr fatal error: goroutine \d+: stack overflow
// check: stderr limit 256 KiB
// check: stderr recurse
WEFT_CASE(overflow) {
  weft::run([] { weft::spawn([] { return recurse(0); }).join(); });
  return 0;
}
