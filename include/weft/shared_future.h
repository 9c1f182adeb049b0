// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/future.h"

namespace weft {

// As std::shared_future: copies share one result, and each copy may be asked again and again. Different goroutines and
// threads may use copies at the same time, and also the const members of one copy.
template <class T>
class shared_future {
  using value_reference =
      std::conditional_t<std::is_void_v<T> || std::is_reference_v<T>, T, std::add_lvalue_reference_t<const T>>;

 public:
  shared_future() noexcept = default;
  shared_future(future<T>&& from) noexcept  // NOLINT(google-explicit-constructor): as std's
      : state_(std::move(from.state_)) {}

  bool valid() const noexcept { return state_ != nullptr; }
  // Blocks until there is a result. Returns the value, which lives as long as a shared_future of it, or throws the
  // exception.
  value_reference get() const {
    detail::future_state<T>& state = detail::need(state_);
    state.wait(detail::forever);
    state.rethrow();
    if constexpr (std::is_reference_v<T>) {
      return static_cast<T>(**state.result);
    } else if constexpr (!std::is_void_v<T>) {
      return *state.result;
    }
  }
  void wait() const { detail::need(state_).wait(detail::forever); }
  template <class Rep, class Period>
  std::future_status wait_for(std::chrono::duration<Rep, Period> limit) const {
    return status_of(detail::need(state_).wait(detail::deadline_in(limit)));
  }
  template <class Clock, class Duration>
  std::future_status wait_until(std::chrono::time_point<Clock, Duration> limit) const {
    detail::future_state<T>& state = detail::need(state_);
    return status_of(
        detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) { return state.wait(deadline_ns); }));
  }

  detail::future_core* core() const noexcept { return state_.get(); }  // for select; null: not valid

 private:
  static std::future_status status_of(bool ready) noexcept {
    return ready ? std::future_status::ready : std::future_status::timeout;
  }
  std::shared_ptr<detail::future_state<T>> state_;
};

}  // namespace weft
