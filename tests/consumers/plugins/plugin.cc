// SPDX-License-Identifier: MIT
// One of two libraries with the same functions under different names: first_sum, second_sum, ...
#include <weft/weft.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define NAME(function) JOIN(PLUGIN, function)
#define EXPORTED extern "C" __attribute__((visibility("default")))

// Goroutines, from a thread or from a goroutine.
EXPORTED int NAME(sum)(int count) {
  std::atomic<int> sum{0};
  weft::wait_group all;
  for (int i = 1; i <= count; ++i)
    all.go([&sum, i] {
      weft::this_goroutine::yield();
      sum += i;
    });
  all.wait();
  return sum;
}

// The runtime's number of goroutines that were ever started: the same in every library, for there is one runtime.
EXPORTED unsigned long long NAME(spawns)() { return weft::runtime::read_stats().spawns; }

// An exception through the runtime: 1 if it arrives as what it was.
EXPORTED int NAME(exception)() {
  try {
    weft::spawn([] { throw std::range_error("from a plugin"); }).join();
  } catch (const std::range_error&) {
    try {
      weft::chan<int> closed(1);
      closed.close();
      closed.send(1);
    } catch (const weft::logic_error&) {
      return 1;
    }
  }
  return 0;
}

__attribute__((noinline)) static int step(int x) {
  asm volatile("");
  return x * 3 + 1;
}

// A goroutine of this library that computes is preempted at its checks: another one gets its turn on the single P.
EXPORTED int NAME(gives_way)() {
  std::atomic<bool> stop{false};
  auto hog = weft::spawn([&stop] {
    int x = 1;
    while (!stop.load(std::memory_order_relaxed)) x = step(x);
    return x;
  });
  auto stats = weft::runtime::read_stats();
  while (stats.preempts_done == stats.exiles) {
    weft::this_goroutine::sleep_for(std::chrono::milliseconds(1));
    stats = weft::runtime::read_stats();
  }
  stop = true;
  hog.join();
  return 1;
}

EXPORTED void NAME(deadlock)() {
  weft::run([] {
    weft::chan<int> never;
    never.recv();  // the report's line
  });
}
