// SPDX-License-Identifier: MIT
#pragma once
#include <dirent.h>
#include <weft/weft.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

// What the programs of this directory share: each drives a client library that knows nothing of weft, linked with weft::posix.

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

#define EXPECT(condition)                                                 \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::fflush(stdout);                                                \
      std::_Exit(1);                                                      \
    }                                                                     \
  } while (false)

// Far fewer than the 100 to 200 waits at once. On a quiet machine there are 4 or 5; on a busy one a goroutine of a library, which has
// no preemption checks, may compute on with a thread of its own for a while.
inline constexpr int kFewThreads = 40;

inline int count_threads() {
  DIR* tasks = opendir("/proc/self/task");
  int count = 0;
  while (const dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

// A goroutine that ticks every millisecond beside the others, and counts their threads.
class Beside {
 public:
  Beside() {
    group_.go([this] {
      while (!stop_) {
        const auto before = Clock::now();
        weft::this_goroutine::sleep_for(1ms);
        late_.push_back(std::chrono::duration<double, std::milli>(Clock::now() - before).count() - 1);
        if (late_.size() % 16 == 1) threads_ = std::max(threads_, count_threads());
      }
    });
  }
  // Prints how late the ticks were. Returns the most threads that were seen.
  int end(const char* what) {
    stop_ = true;
    group_.wait();
    std::sort(late_.begin(), late_.end());
    std::printf("%s: at most %d threads; %zu ticks, late p50 %.2f p99 %.2f ms\n", what, threads_, late_.size(),
                late_[late_.size() / 2], late_[late_.size() * 99 / 100]);
    return threads_;
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<double> late_;
  int threads_ = 0;
  weft::wait_group group_;
};
