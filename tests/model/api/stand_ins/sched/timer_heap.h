// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "os/futex.h"

// Stands in for src/sched/timer_heap.h: callbacks run under the lock, so stopping a timer waits for its callback. When a timer
// fires is for the search to decide.
namespace weft::sched {

struct Goroutine;

struct Timer {
  using Callback = void (*)(Timer*, std::int64_t now_ns);
  std::int64_t when_ns = 0;
  std::int64_t period_ns = 0;
  Callback callback = nullptr;
  void* argument = nullptr;
};

class TimerHeap {
 public:
  static constexpr unsigned kMost = 4;

  bool add(Timer* timer) {
    lock_.lock(RL_INFO);
    for (Timer*& place : pending_)
      if (place == nullptr) {
        place = timer;
        break;
      }
    lock_.unlock(RL_INFO);
    return false;
  }
  bool add_sleeper(Goroutine*, std::int64_t) {
    RL_ASSERT(!"no model sleeps without something to wait for");
    return false;
  }
  void stop(Timer* timer) {
    lock_.lock(RL_INFO);
    for (Timer*& place : pending_)
      if (place == timer) place = nullptr;
    lock_.unlock(RL_INFO);
  }
  void fire_all() {
    lock_.lock(RL_INFO);
    for (Timer*& place : pending_)
      if (place != nullptr) {
        Timer* due = place;
        place = nullptr;
        due->callback(due, due->when_ns);
      }
    lock_.unlock(RL_INFO);
  }
  bool is_empty() const {  // after an execution
    for (const Timer* place : pending_)
      if (place != nullptr) return false;
    return true;
  }

 private:
  rl::mutex lock_;
  Timer* pending_[kMost] = {};
};

bool stop_timer(Timer* timer);

}  // namespace weft::sched
