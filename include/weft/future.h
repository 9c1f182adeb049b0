// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/detail/clock.h"
#include "weft/detail/countdown.h"
#include "weft/detail/deadline.h"
#include "weft/error.h"

// As std::promise and std::future, for goroutines and threads. Errors are std::future_error; only a null exception_ptr
// throws logic_error.
namespace weft {

namespace detail {

class future_core {
 public:
  bool ready() const noexcept { return pending_.is_zero(); }
  bool wait(std::int64_t deadline_ns) noexcept;

  // The caller that has claimed the state must make it ready or give it back.
  void claim() {
    if (claimed_.exchange(true, std::memory_order_acq_rel))  // pairs: future.claimed (self)
      throw std::future_error(std::future_errc::promise_already_satisfied);
  }
  void give_back() noexcept { claimed_.store(false, std::memory_order_release); }  // pairs: future.claimed (self)
  void make_ready() noexcept { pending_.subtract(1); }
  void set_error(std::exception_ptr error) {
    claim();
    error_ = std::move(error);
    make_ready();
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }
  countdown& pending() noexcept { return pending_; }  // for select
  void mark_retrieved() {
    if (retrieved_.exchange(true, std::memory_order_relaxed))  // relaxed: only the flag itself counts
      throw std::future_error(std::future_errc::future_already_retrieved);
  }

 private:
  countdown pending_{1};
  std::atomic<bool> claimed_{false}, retrieved_{false};
  std::exception_ptr error_;
};

struct nothing {};

template <class T>
struct future_state : future_core {
  using stored = std::conditional_t<std::is_void_v<T>, nothing,
                                    std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, T>>;
  template <class... A>
  void set(A&&... value) {
    this->claim();
    struct guard {  // a constructor that throws leaves the promise as it was
      future_state* state;
      ~guard() {
        if (state != nullptr) state->give_back();
      }
    } undo{this};
    result.emplace(std::forward<A>(value)...);
    undo.state = nullptr;
    this->make_ready();
  }
  T take() {
    this->rethrow();
    if constexpr (std::is_reference_v<T>) {
      return static_cast<T>(**result);
    } else if constexpr (!std::is_void_v<T>) {
      return std::move(*result);
    }
  }
  std::optional<stored> result;
};

template <class T>
future_state<T>& need(const std::shared_ptr<future_state<T>>& state) {
  if (state == nullptr) throw std::future_error(std::future_errc::no_state);
  return *state;
}

}  // namespace detail

template <class T>
class promise;
template <class T>
class shared_future;

// The receiving side. One get() takes the result.
template <class T>
class future {
 public:
  future() noexcept = default;

  bool valid() const noexcept { return state_ != nullptr; }
  // Blocks until there is a result. Returns the value, or throws the exception; afterwards the future is not valid.
  T get() {
    wait();
    const std::shared_ptr<detail::future_state<T>> state = std::move(state_);
    return state->take();
  }
  // A future that several readers can ask for the same result; afterwards this future is not valid.
  shared_future<T> share() noexcept { return shared_future<T>(std::move(*this)); }
  void wait() const { detail::need(state_).wait(detail::forever); }
  template <class Rep, class Period>
  std::future_status wait_for(std::chrono::duration<Rep, Period> limit) const {
    return wait_with_limit(detail::deadline_in(limit));
  }
  template <class Clock, class Duration>
  std::future_status wait_until(std::chrono::time_point<Clock, Duration> limit) const {
    detail::future_state<T>& state = detail::need(state_);
    return detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) { return state.wait(deadline_ns); })
               ? std::future_status::ready
               : std::future_status::timeout;
  }

  detail::future_core* core() const noexcept { return state_.get(); }  // for select; null: not valid

 private:
  friend promise<T>;
  friend shared_future<T>;
  explicit future(std::shared_ptr<detail::future_state<T>> state) noexcept : state_(std::move(state)) {}
  std::future_status wait_with_limit(std::int64_t deadline_ns) const {
    return detail::need(state_).wait(deadline_ns) ? std::future_status::ready : std::future_status::timeout;
  }
  std::shared_ptr<detail::future_state<T>> state_;
};

// The sending side. If it goes without a result, the future gets broken_promise.
template <class T>
class promise {
 public:
  promise() : state_(std::make_shared<detail::future_state<T>>()) {}
  promise(promise&&) noexcept = default;
  promise& operator=(promise&& other) noexcept {
    promise(std::move(other)).swap(*this);
    return *this;
  }
  ~promise() { abandon(); }
  void swap(promise& other) noexcept { state_.swap(other.state_); }
  friend void swap(promise& first, promise& second) noexcept { first.swap(second); }

  [[nodiscard]] future<T> get_future() {
    detail::need(state_).mark_retrieved();
    return future<T>(state_);
  }
  void set_value()
    requires std::is_void_v<T>
  {
    detail::need(state_).set();
  }
  template <class U = T>
    requires(!std::is_void_v<T> && !std::is_reference_v<T> && std::is_convertible_v<U &&, T>)
  void set_value(U&& value) {
    detail::need(state_).set(std::forward<U>(value));
  }
  void set_value(std::conditional_t<std::is_void_v<T>, detail::nothing, T>& value)
    requires std::is_reference_v<T>
  {
    detail::need(state_).set(std::addressof(value));
  }
  void set_exception(std::exception_ptr error) {
    if (error == nullptr) throw logic_error("weft: promise::set_exception: the exception_ptr is null");
    detail::need(state_).set_error(std::move(error));
  }

 private:
  void abandon() noexcept {
    if (state_ == nullptr || state_->ready()) return;
    try {
      state_->set_error(std::make_exception_ptr(std::future_error(std::future_errc::broken_promise)));
    } catch (const std::future_error&) {  // it has been satisfied meanwhile
    }
  }
  std::shared_ptr<detail::future_state<T>> state_;
};

}  // namespace weft

#include "weft/shared_future.h"  // share() makes one
