// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/detail/clock.h"
#include "weft/detail/wait_queue.h"
#include "weft/go.h"

namespace weft {

class wait_group;

namespace detail {

// What a goroutine of a group runs. The function is gone when the group is told: who waits for the group waits for the
// destructors of what the function captured, too.
template <class F>
class counted_call {
 public:
  template <class G>
  counted_call(wait_group* group, G&& f) : group_(group), function_(std::forward<G>(f)) {}
  counted_call(counted_call&& other) noexcept(std::is_nothrow_move_constructible_v<F>)
      : group_(other.group_), function_(std::move(other.function_)) {}
  ~counted_call() {
    if (group_ != nullptr) std::destroy_at(&function_);
  }
  void operator()();

 private:
  wait_group* group_;  // null: it has run
  union {
    F function_;
  };
};

}  // namespace detail

// Waits for a number of goroutines to finish.
class wait_group {
 public:
  constexpr wait_group() noexcept = default;
  constexpr explicit wait_group(const char* name) noexcept : queue_(name) {}
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
  WEFT_ALWAYS_INLINE void go(F&& f) {
    detail::refuse_empty(f);
    add(1);
    struct guard {
      wait_group* group;
      ~guard() {
        if (group != nullptr) group->done();
      }
    } undo{this};
    weft::go(detail::counted_call<std::decay_t<F>>(this, std::forward<F>(f)));
    undo.group = nullptr;
  }

 private:
  friend struct detail::inspector;
  bool wait_until_ns(std::int64_t deadline_ns);
  std::atomic<std::uint64_t> state_{0};  // count in the high half, waiters in the low one
  detail::wait_queue queue_;
};

template <class F>
void detail::counted_call<F>::operator()() {
  struct done_at_end {  // also when this_goroutine::exit() unwinds
    counted_call& call;
    wait_group* group = call.group_;
    ~done_at_end() {
      std::destroy_at(&call.function_);
      call.group_ = nullptr;
      group->done();
    }
  } end{*this};
  function_();
}

}  // namespace weft
