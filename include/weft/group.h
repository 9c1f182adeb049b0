// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <exception>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/chan.h"
#include "weft/context.h"
#include "weft/mutex.h"
#include "weft/wait_group.h"

namespace weft {

// Structured concurrency: goroutines that end before the group does. The first exception cancels the others.
class group {
 public:
  group() : group(context::background()) {}
  explicit group(const context& parent) : group(with_cancel(parent)) {}
  group(const group&) = delete;
  // Cancels and joins.
  ~group() {
    cancel_();
    running_.wait();
  }

  // At most n at once: go() waits for a place. Before the first go().
  void limit(std::size_t n) {
    if (n == 0) throw logic_error("weft: group::limit: at least one goroutine must be allowed");
    if (!running_.wait_for(std::chrono::nanoseconds(0)))
      throw logic_error("weft: group::limit: goroutines of the group are running");
    places_ = chan<std::monostate>(n, "places of a group");
  }

  // f() or f(const context&).
  template <class F>
  WEFT_ALWAYS_INLINE void go(F&& f) {
    detail::refuse_empty(f);
    chan<std::monostate> places = places_;
    if (places) places.send({});
    struct place {
      chan<std::monostate> places;
      ~place() {
        if (places) places.try_recv();
      }
    } undo{places};
    running_.go([this, places, f = std::decay_t<F>(std::forward<F>(f))]() mutable {
      const place held{std::move(places)};
      try {
        if constexpr (std::is_invocable_v<std::decay_t<F>&, const context&>) {
          f(context_);
        } else {
          f();
        }
      } catch (...) {
        std::exception_ptr error = std::current_exception();
        if (error == nullptr) throw;  // this_goroutine::exit()
        fail(std::move(error));
      }
    });
    undo.places = chan<std::monostate>::nil();
  }

  // Waits for all; rethrows the first exception.
  void wait() {
    running_.wait();
    cancel_();
    const std::lock_guard guard(mutex_);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }
  // As wait(); false: some still run after the time limit.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> limit) {
    if (!running_.wait_for(limit)) return false;
    wait();
    return true;
  }
  const context& ctx() const noexcept { return context_; }

 private:
  explicit group(std::pair<context, cancel_function> made)
      : context_(std::move(made.first)), cancel_(std::move(made.second)) {}

  void fail(std::exception_ptr error) {
    {
      const std::lock_guard guard(mutex_);
      if (error_ == nullptr && !failed_) error_ = error;
      failed_ = true;
    }
    cancel_(error);
  }

  context context_;
  cancel_function cancel_;
  wait_group running_;
  mutex mutex_;
  std::exception_ptr error_;
  bool failed_ = false;
  chan<std::monostate> places_ = chan<std::monostate>::nil();  // nil: no limit
};

}  // namespace weft
