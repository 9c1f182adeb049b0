// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>

#include "weft/chan.h"
#include "weft/detail/callable.h"
#include "weft/detail/clock.h"
#include "weft/detail/deadline.h"
#include "weft/detail/launch.h"
#include "weft/detail/stored_function.h"

// Cancellation: a tree of contexts; cancelling one cancels all below it.
namespace weft {

class context;
struct cancel_function;
class context_callback;

namespace detail {
struct context_state;
struct context_hook;
struct context_watch;
void retain_context(context_state* state) noexcept;
void release_context(context_state* state) noexcept;
struct time_limit {
  std::int64_t deadline_ns = forever;
  std::exception_ptr cause{};             // null: a std::system_error of errc::timed_out
  std::function<std::int64_t()> again{};  // for clocks other than steady: when to look again; 0: the time has come
};
template <class Clock, class Duration>
time_limit limit_at(std::chrono::time_point<Clock, Duration> when, std::exception_ptr cause = nullptr) {
  time_limit limit{deadline_of(when), std::move(cause)};
  if constexpr (!std::is_same_v<Clock, std::chrono::steady_clock>)
    limit.again = [when] { return has_come(when) ? 0 : deadline_of(when); };
  return limit;
}
// An exception_ptr, or any object that can be thrown.
template <class Cause>
std::exception_ptr as_cause(Cause&& cause) {
  if constexpr (std::is_convertible_v<Cause&&, std::exception_ptr>) {
    return std::forward<Cause>(cause);
  } else {
    return std::make_exception_ptr<std::decay_t<Cause>>(std::forward<Cause>(cause));
  }
}
context make_cancellable(const context& parent, time_limit limit);
context make_stoppable(const context& parent, std::stop_token token);
context make_uncancellable(const context& parent);
context make_value_context(const context& parent, const std::type_info& type, std::shared_ptr<const void> value);
void cancel_context(context_state* state, std::error_code error, std::exception_ptr cause);
// Takes over the function in any case. `site`: where its goroutine is reported to have been started (spawn_record.h).
context_callback call_when_cancelled(const context& when, stored_function function, std::int32_t site);
bool watch_context(const context& watched, context_watch& watch);
}  // namespace detail

// A cheap handle, safe to share between goroutines and threads. The channel, the stop token and registered functions
// outlive the handles: they still see a cancellation from above, the deadline and the stop request.
class context {
 public:
  static context background() noexcept { return context(nullptr); }

  context(const context& other) noexcept : state_(other.state_) {
    if (state_ != nullptr) detail::retain_context(state_);
  }
  context(context&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  context& operator=(context other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~context() {
    if (state_ != nullptr) detail::release_context(state_);
  }

  // done(), cancelled(), err() and cause() change at one moment: a caller that sees one of them finds the others. What
  // follows from a cancellation (contexts below, the stop token, functions) comes after that moment.
  chan<std::monostate> done() const;  // closed when the context is cancelled; nil for a context that never is
  bool cancelled() const noexcept;
  std::error_code err() const;  // errc::operation_canceled, errc::timed_out; none while not cancelled
  // What was given to cancel, else a std::system_error of err(); null while not cancelled.
  std::exception_ptr cause() const;
  // The earliest deadline of this context and those above it, as a time of the steady clock.
  std::optional<time_point> deadline() const;
  // The nearest value of type T, here or above; null: there is none.
  template <class T>
  const T* value() const {
    return static_cast<const T*>(find_value(typeid(T)));
  }
  // A stop is requested when the context is cancelled.
  std::stop_token stop_token() const;

 private:
  explicit context(detail::context_state* adopted) noexcept : state_(adopted) {}
  const void* find_value(const std::type_info& type) const noexcept;
  friend context detail::make_cancellable(const context&, detail::time_limit);
  friend context detail::make_stoppable(const context&, std::stop_token);
  friend context detail::make_uncancellable(const context&);
  friend context detail::make_value_context(const context&, const std::type_info&, std::shared_ptr<const void>);
  friend context_callback detail::call_when_cancelled(const context&, detail::stored_function, std::int32_t);
  friend bool detail::watch_context(const context&, detail::context_watch&);
  friend struct cancel_function;
  friend class context_callback;
  detail::context_state* state_;
};

// Cancels a context. Idempotent: the first call decides the cause. When it returns, all contexts below are cancelled,
// except those that another call is about to cancel at that moment. Callbacks of their stop tokens run after that, in
// the caller.
struct cancel_function {
  void operator()() const { (*this)(nullptr); }
  void operator()(std::exception_ptr cause) const {
    detail::cancel_context(target.state_, std::make_error_code(std::errc::operation_canceled), std::move(cause));
  }
  context target = context::background();
};

// Cancelled at the deadline, which may be of any clock; never early by that clock. deadline() gives it as a time of the
// steady clock.
template <class Clock, class Duration>
std::pair<context, cancel_function> with_deadline(const context& parent,
                                                  std::chrono::time_point<Clock, Duration> deadline) {
  context child = detail::make_cancellable(parent, detail::limit_at(deadline));
  return {child, cancel_function{child}};
}
// With a cause: cause() returns it once the deadline has passed. It is an exception_ptr, or any exception. err() is
// errc::timed_out all the same, and the cancel_function does not use this cause.
template <class Clock, class Duration, class Cause>
std::pair<context, cancel_function> with_deadline(const context& parent,
                                                  std::chrono::time_point<Clock, Duration> deadline, Cause&& cause) {
  context child =
      detail::make_cancellable(parent, detail::limit_at(deadline, detail::as_cause(std::forward<Cause>(cause))));
  return {child, cancel_function{child}};
}
// As with_deadline, at a duration from now.
template <class Rep, class Period>
std::pair<context, cancel_function> with_timeout(const context& parent, std::chrono::duration<Rep, Period> limit) {
  context child = detail::make_cancellable(parent, {detail::deadline_in(limit)});
  return {child, cancel_function{child}};
}
template <class Rep, class Period, class Cause>
std::pair<context, cancel_function> with_timeout(const context& parent, std::chrono::duration<Rep, Period> limit,
                                                 Cause&& cause) {
  context child =
      detail::make_cancellable(parent, {detail::deadline_in(limit), detail::as_cause(std::forward<Cause>(cause))});
  return {child, cancel_function{child}};
}
// Cancelled by the cancel_function, or with the parent.
inline std::pair<context, cancel_function> with_cancel(const context& parent) {
  context child = detail::make_cancellable(parent, {});
  return {child, cancel_function{child}};
}
// Cancelled also when a stop is requested. (context::stop_token() goes the other way.)
inline context with_stop_token(const context& parent, std::stop_token token) {
  return detail::make_stoppable(parent, std::move(token));
}
// Has the parent's values, but neither its cancellation nor its deadline.
inline context without_cancel(const context& parent) { return detail::make_uncancellable(parent); }
// Adds a value that is found by its type: value<T>() returns the nearest one.
template <class T>
context with_value(const context& parent, T value) {
  return detail::make_value_context(parent, typeid(T), std::make_shared<const T>(std::move(value)));
}

// The registration of a function by after_func. Dropping it changes nothing.
class context_callback {
 public:
  // True: the function had not been started, and will not be.
  bool stop() const;

 private:
  friend context_callback detail::call_when_cancelled(const context&, detail::stored_function, std::int32_t);
  context_callback(context when, std::shared_ptr<detail::context_hook> hook)
      : when_(std::move(when)), hook_(std::move(hook)) {}
  context when_;
  std::shared_ptr<detail::context_hook> hook_;
};

// Runs f in its own goroutine when the context is cancelled; at once if it already is.
template <class F>
WEFT_ALWAYS_INLINE context_callback after_func(const context& when, F&& f) {
  static_assert(
      detail::is_repeatable<F>,
      "weft::after_func: the function must be callable without arguments, and copied or moved in: give it what "
      "it needs by capturing it in a lambda");
  if constexpr (detail::is_repeatable<F>) {
    detail::refuse_empty(f, "after_func");
    return detail::call_when_cancelled(when, detail::store_function(std::forward<F>(f)),
                                       detail::site_at(detail::here()));
  } else {
    throw logic_error("weft: after_func: not callable");
  }
}

}  // namespace weft
