// SPDX-License-Identifier: MIT
// Compiled, linked and run by combinations.py in many ways: a function of variable arguments that gives way at its entry, a
// thread of the program's own, an exception. What it prints says whether the checks are there.
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/time.h>

extern "C" __attribute__((noinline)) long hot(int count, ...) {
  va_list list;
  va_start(list, count);
  long sum = 0;
  for (int i = 0; i < count; ++i) sum += va_arg(list, int);
  va_end(list);
  if (sum % 7 == 3) throw std::runtime_error("three");
  return sum;
}

int main() {
  std::thread([] {}).join();
  weft::run([] {
    long sum = 0;
    for (int i = 0; i < 1000; ++i) {
      sum += weft::spawn([i] {
               try {
                 return hot(9, i, 2, 3, 4, 5, 6, 7, 8, 9);
               } catch (const std::runtime_error&) {
                 return -1L;
               }
             }).join();
    }
    // Beside one that throws all the time the signal finds the unwinder at work.
    std::atomic<bool> stop{false};
    auto throwing = weft::spawn([&stop] {
      long caught = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        try {
          throw std::runtime_error("again");
        } catch (const std::runtime_error&) {
          ++caught;
        }
      }
      return caught;
    });
    for (int i = 0; i < 50; ++i) weft::this_goroutine::sleep_for(std::chrono::milliseconds(1));
    stop = true;
    sum += throwing.join() > 0 ? 0 : 1;
    const auto done = weft::runtime::read_stats().preempts_done;
    std::printf("%ld, %s\n", sum, done > 1000 ? "preempted" : "not preempted");
  });
}
