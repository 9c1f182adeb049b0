// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "weft/detail/callable.h"
#include "weft/detail/clock.h"
#include "weft/detail/countdown.h"
#include "weft/detail/deadline.h"
#include "weft/detail/owned_call.h"
#include "weft/go.h"

namespace weft {

class wait_group;
void end_of_call(wait_group* group) noexcept;

// Waits for a number of goroutines to finish.
class wait_group {
 public:
  constexpr wait_group() noexcept : wait_group(nullptr) {}
  constexpr explicit wait_group(const char* name) noexcept : countdown_(0, name) {}
  wait_group(const wait_group&) = delete;

  // Throws logic_error, and changes nothing, if the count would become negative or exceed INT_MAX.
  void add(int n = 1);
  void done() { add(-1); }
  // Blocks until the count is zero.
  void wait() { wait_until_ns(detail::forever); }
  // False: the count is not zero at the time limit.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> limit) {
    return wait_until_ns(detail::deadline_in(limit));
  }
  template <class Clock, class Duration>
  bool wait_until(std::chrono::time_point<Clock, Duration> limit) {
    return detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) { return wait_until_ns(deadline_ns); });
  }

  // Calls add() and starts f as a goroutine; done() is called when f returns. If f throws, the process ends, and no
  // wait() returns.
  template <class F>
  WEFT_ALWAYS_INLINE void go(F&& f) {
    WEFT_REFUSE_UNGROUPABLE("weft::wait_group::go", F);
    if constexpr (detail::is_startable<F>) {
      detail::refuse_empty(f, "wait_group::go");
      added undo(*this);
      weft::go(detail::owned_call<wait_group, std::decay_t<F>>(this, std::forward<F>(f)));
      undo.group = nullptr;
    }
  }
  template <class F>
  WEFT_ALWAYS_INLINE void go(const go_options& options, F&& f) {
    WEFT_REFUSE_UNGROUPABLE("weft::wait_group::go", F);
    if constexpr (detail::is_startable<F>) {
      detail::refuse_empty(f, "wait_group::go");
      added undo(*this);
      weft::go(options, detail::owned_call<wait_group, std::decay_t<F>>(this, std::forward<F>(f)));
      undo.group = nullptr;
    }
  }

 private:
  struct added {  // taken back if the goroutine cannot be started
    explicit added(wait_group& to) : group(&to) { to.add(1); }
    added(const added&) = delete;
    ~added() {
      if (group != nullptr) group->done();
    }
    wait_group* group;
  };
  friend struct detail::inspector;
  template <class F>
  friend void call_for(wait_group*, F& function) {
    detail::call_last(function);
  }
  friend void end_of_call(wait_group* group) noexcept;
  bool wait_until_ns(std::int64_t deadline_ns);
  detail::countdown countdown_;
};

}  // namespace weft
