// SPDX-License-Identifier: MIT
#pragma once
#include <unistd.h>
#include <weft/weft.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "support/waiting.h"

// Some of everything, with a result that is known: for tests in which the world around the program is what is odd.
namespace weft::test {

// Goroutines that compute, yield, sleep, lock, join, block and sit on threads of their own. True: all sums are right.
inline bool mixed_workload(int scale = 1) {
  std::atomic<long> sum{0};
  long locked_sum = 0;
  mutex lock;
  wait_group group;
  for (int i = 0; i < 40 * scale; ++i) {
    group.go([&, i] {
      for (int round = 0; round < 10; ++round) {
        switch ((i + round) % 6) {
          case 0: this_goroutine::yield(); break;
          case 1: this_goroutine::sleep_for(100us); break;
          case 2: blocking([] { usleep(50); }); break;
          case 3: sum += spawn([] { return 1; }).join() - 1; break;
          case 4: {
            event soon;
            sum += soon.wait_for(50us) ? 1 : 0;
            break;
          }
          default: compute_for(20us);
        }
        {
          const std::lock_guard guard(lock);
          ++locked_sum;
        }
        ++sum;
      }
    });
  }
  for (int i = 0; i < 3; ++i) {
    group.go([&] {
      const os_thread_lock wired;
      const pid_t mine = gettid();
      for (int round = 0; round < 10; ++round) {
        this_goroutine::sleep_for(100us);
        if (gettid() != mine) sum += 1'000'000;
      }
    });
  }
  group.wait();
  return sum == 400l * scale && locked_sum == 400l * scale;
}

}  // namespace weft::test
