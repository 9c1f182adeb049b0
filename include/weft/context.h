// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>

#include "weft/chan.h"
#include "weft/detail/clock.h"

// Cancellation: a tree of contexts; cancelling one cancels all below it.
namespace weft {

class context;
struct cancel_function;

namespace detail {
struct context_state;
context make_cancellable(const context& parent, std::int64_t deadline_ns);
void cancel_context(const std::shared_ptr<context_state>& state, std::error_code error, std::exception_ptr cause);
context make_value_context(const context& parent, const std::type_info& type, std::shared_ptr<const void> value);
}  // namespace detail

// A cheap handle, safe to share between goroutines and threads.
class context {
 public:
  static context background() noexcept { return context(nullptr); }

  chan<std::monostate> done() const;  // closed when the context is cancelled; nil for a context that never is
  bool cancelled() const noexcept;
  std::error_code err() const;  // errc::operation_canceled, errc::timed_out; none while not cancelled
  std::exception_ptr cause()
      const;  // what was given to cancel, else a std::system_error of err(); null while not cancelled
  std::optional<time_point> deadline() const;
  template <class T>
  const T* value() const {
    return static_cast<const T*>(find_value(typeid(T)));
  }
  std::stop_token stop_token() const;

 private:
  explicit context(std::shared_ptr<detail::context_state> state) noexcept : state_(std::move(state)) {}
  const void* find_value(const std::type_info& type) const noexcept;
  friend context detail::make_cancellable(const context&, std::int64_t);
  friend context detail::make_value_context(const context&, const std::type_info&, std::shared_ptr<const void>);
  friend struct cancel_function;
  std::shared_ptr<detail::context_state> state_;
};

// Idempotent; the first call decides the cause.
struct cancel_function {
  void operator()() const { (*this)(nullptr); }
  void operator()(std::exception_ptr cause) const {
    detail::cancel_context(target.state_, std::make_error_code(std::errc::operation_canceled), std::move(cause));
  }
  context target = context::background();
};

inline std::pair<context, cancel_function> with_deadline(const context& parent, time_point deadline) {
  context child = detail::make_cancellable(parent, detail::deadline_at(deadline));
  return {child, cancel_function{child}};
}
template <class Rep, class Period>
std::pair<context, cancel_function> with_timeout(const context& parent, std::chrono::duration<Rep, Period> limit) {
  context child = detail::make_cancellable(parent, detail::deadline_in(limit));
  return {child, cancel_function{child}};
}
inline std::pair<context, cancel_function> with_cancel(const context& parent) {
  context child = detail::make_cancellable(parent, detail::forever);
  return {child, cancel_function{child}};
}
// Keyed by type: value<T>() finds the nearest one.
template <class T>
context with_value(const context& parent, T value) {
  return detail::make_value_context(parent, typeid(T), std::make_shared<const T>(std::move(value)));
}

}  // namespace weft
