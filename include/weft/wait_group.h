// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "weft/detail/clock.h"
#include "weft/detail/wait_queue.h"
#include "weft/go.h"

namespace weft {

// Waits for a number of goroutines to finish.
class wait_group {
 public:
  wait_group() = default;
  wait_group(const wait_group&) = delete;

  void add(int n = 1);
  void done() { add(-1); }
  void wait() { wait_until_ns(detail::forever); }
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> limit) {
    return wait_until_ns(detail::deadline_in(limit));
  }
  bool wait_until(time_point limit) { return wait_until_ns(detail::deadline_at(limit)); }

  // add(); go(f); done() when f returns. If f throws, the process ends and no wait() returns.
  template <class F>
  void go(F&& f) {
    detail::refuse_empty(f);
    add(1);
    struct guard {
      wait_group* group;
      ~guard() {
        if (group != nullptr) group->done();
      }
    } undo{this};
    weft::go([this, f = std::decay_t<F>(std::forward<F>(f))]() mutable {
      struct done_at_end {  // also when this_goroutine::exit() unwinds
        wait_group* group;
        ~done_at_end() { group->done(); }
      } end{this};
      f();
    });
    undo.group = nullptr;
  }

 private:
  bool wait_until_ns(std::int64_t deadline_ns);
  std::atomic<std::uint64_t> state_{0};  // count in the high half, waiters in the low one
  detail::wait_queue queue_;
};

}  // namespace weft
