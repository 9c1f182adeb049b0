// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <functional>
#include <utility>

#include "weft/chan.h"
#include "weft/detail/callable.h"
#include "weft/detail/clock.h"
#include "weft/detail/launch.h"
#include "weft/detail/stored_function.h"

// Timers with the semantics of Go 1.23: no stale value after stop or reset, and a timer channel without handles costs
// nothing.
namespace weft {
namespace detail {

static_assert(sizeof(time_point) == sizeof(std::int64_t) && std::chrono::steady_clock::period::den == 1'000'000'000,
              "a timer's channel carries a time_point as its nanoseconds");

// Runs a function in its own goroutine when the time has come.
class function_timer;
// Takes over the function in any case. `site`: where its goroutine is reported to have been started (spawn_record.h).
function_timer* make_function_timer(std::int64_t when_ns, stored_function function, std::int32_t site = 0);
// True: the timer had not fired.
bool reset_function_timer(function_timer* timer, std::int64_t when_ns, std::int32_t site = 0);
bool stop_function_timer(function_timer* timer) noexcept;
void retain_function_timer(function_timer* timer) noexcept;
void release_function_timer(function_timer* timer) noexcept;

[[noreturn]] void throw_uninitialized_timer();
[[noreturn]] void throw_moved_ticker();
[[noreturn]] void throw_bad_period();

}  // namespace detail

// A channel that delivers the time once, after the duration.
template <class Rep, class Period>
chan<time_point> after(std::chrono::duration<Rep, Period> duration) {
  return chan<time_point>::adopt(detail::make_timer_chan(detail::deadline_in(duration), 0));
}

// A timer with a channel, or with a function that it runs in a goroutine. It is a handle: copies name the same timer.
// stop() and reset() of an uninitialized timer throw logic_error.
class timer {
 public:
  timer() noexcept : channel_(weft::chan<time_point>::nil()) {}
  template <class Rep, class Period>
  explicit timer(std::chrono::duration<Rep, Period> duration) : channel_(after(duration)) {}
  template <class Rep, class Period>
  WEFT_ALWAYS_INLINE timer(std::chrono::duration<Rep, Period> duration, std::function<void()> function)
      : timer(detail::deadline_in(duration), calling{"timer", detail::site_at(detail::here())}, std::move(function)) {}
  timer(const timer& other) noexcept : channel_(other.channel_), function_(other.function_) {
    if (function_ != nullptr) detail::retain_function_timer(function_);
  }
  timer(timer&& other) noexcept
      : channel_(std::move(other.channel_)), function_(std::exchange(other.function_, nullptr)) {}
  timer& operator=(timer other) noexcept {
    std::swap(channel_, other.channel_);
    std::swap(function_, other.function_);
    return *this;
  }
  // A function timer fires even if its handles are dropped.
  ~timer() {
    if (function_ != nullptr) detail::release_function_timer(function_);
  }

  // True: the timer had not fired, or its value had not been received yet.
  bool stop() {
    if (function_ != nullptr) return detail::stop_function_timer(function_);
    if (!channel_) detail::throw_uninitialized_timer();
    return detail::stop_timer_chan(channel_.core());
  }
  template <class Rep, class Period>
  WEFT_ALWAYS_INLINE bool reset(std::chrono::duration<Rep, Period> duration) {
    const std::int64_t when_ns = detail::deadline_in(duration);
    if (function_ != nullptr) return detail::reset_function_timer(function_, when_ns, detail::site_at(detail::here()));
    if (!channel_) detail::throw_uninitialized_timer();
    return detail::set_timer_chan(channel_.core(), when_ns, 0);
  }
  weft::chan<time_point> chan() const { return channel_; }
  explicit operator bool() const noexcept { return function_ != nullptr || channel_; }  // false: uninitialized

 private:
  template <class Rep, class Period, class F>
  friend timer after_func(std::chrono::duration<Rep, Period> duration, F&& f);
  struct calling {
    const char* starter;
    std::int32_t site;
  };
  template <class F>
  timer(std::int64_t when_ns, calling by, F&& f) : channel_(weft::chan<time_point>::nil()) {
    detail::refuse_empty(f, by.starter);
    function_ = detail::make_function_timer(when_ns, detail::store_function(std::forward<F>(f)), by.site);
  }

  weft::chan<time_point> channel_;
  detail::function_timer* function_ = nullptr;
};

// Runs f in its own goroutine after the duration. reset() starts the timer again.
template <class Rep, class Period, class F>
WEFT_ALWAYS_INLINE timer after_func(std::chrono::duration<Rep, Period> duration, F&& f) {
  static_assert(
      detail::is_repeatable<F>,
      "weft::after_func: the function must be callable without arguments, as an lvalue (reset() runs it again), "
      "and copied or moved in: give it what it needs by capturing it in a lambda");
  if constexpr (detail::is_repeatable<F>) {
    return timer(detail::deadline_in(duration), timer::calling{"after_func", detail::site_at(detail::here())},
                 std::forward<F>(f));
  } else {
    return timer();
  }
}

// Delivers the time once per period. Ticks that are not received in time are dropped. Throws logic_error if the period
// is not positive.
class ticker {
 public:
  template <class Rep, class Period>
  explicit ticker(std::chrono::duration<Rep, Period> period)
      : channel_(weft::chan<time_point>::adopt(detail::make_timer_chan(detail::deadline_in(period), checked(period)))) {
  }

  template <class Rep, class Period>
  void reset(std::chrono::duration<Rep, Period> period) {
    const std::int64_t period_ns = checked(period);
    if (!channel_) detail::throw_moved_ticker();
    detail::set_timer_chan(channel_.core(), detail::deadline_in(period), period_ns);
  }
  void stop() {
    if (!channel_) detail::throw_moved_ticker();
    detail::stop_timer_chan(channel_.core());
  }
  weft::chan<time_point> chan() const { return channel_; }

 private:
  template <class Rep, class Period>
  static std::int64_t checked(std::chrono::duration<Rep, Period> period) {
    const std::int64_t ns = detail::to_ns(period);
    if (ns <= 0) detail::throw_bad_period();
    return ns;
  }
  weft::chan<time_point> channel_;
};

// The channel of a ticker that is never stopped; nil for a period that is not positive.
template <class Rep, class Period>
chan<time_point> tick(std::chrono::duration<Rep, Period> period) {
  return period.count() > 0 ? ticker(period).chan() : chan<time_point>::nil();
}

}  // namespace weft
