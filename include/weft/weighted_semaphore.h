// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

#include "weft/context.h"
#include "weft/detail/clock.h"
#include "weft/detail/deadline.h"
#include "weft/detail/happens_before.h"
#include "weft/detail/wait_queue.h"

namespace weft {

namespace detail {

[[noreturn]] void throw_bad_total();

// Permits that are taken several at a time, and a FIFO queue of waiters (src/api/weighted_semaphore.cc).
class weighted_core {
 public:
  constexpr explicit weighted_core(std::int64_t total, const char* name = nullptr)
      : state_(static_cast<std::uint64_t>(total) * kOne), total_(static_cast<std::uint64_t>(total)), queue_(name) {
    if (total < 0) throw_bad_total();
  }
  weighted_core(const weighted_core&) = delete;

  bool try_acquire(std::int64_t n) {
    if (n < 0 || static_cast<std::uint64_t>(n) > total_) [[unlikely]]
      throw_impossible(n);
    return try_take(static_cast<std::uint64_t>(n));
  }
  // `until` may be null: no context. False: the time limit or the cancellation came first.
  bool acquire(std::int64_t n, std::int64_t deadline_ns, const context* until);
  void release(std::int64_t n);
  std::int64_t available() const noexcept {
    return static_cast<std::int64_t>(state_.load(std::memory_order_relaxed) / kOne);
  }
  std::int64_t total() const noexcept { return static_cast<std::int64_t>(total_); }

 private:
  friend struct inspector;
  static constexpr std::uint64_t kWaiting = 1, kOne = 2;

  bool try_take(std::uint64_t n) noexcept {
    std::uint64_t state = state_.load(std::memory_order_relaxed);
    while ((state & kWaiting) == 0 && state / kOne >= n) {
      if (state_.compare_exchange_weak(state, state - n * kOne, std::memory_order_acquire,  // pairs: weighted.state
                                       std::memory_order_relaxed)) {
        order_acquire(&state_);
        return true;
      }
    }
    return false;
  }
  [[noreturn]] void throw_impossible(std::int64_t n) const;
  bool take_or_announce(std::uint64_t n) noexcept;
  void serve_front(std::uint64_t returned, void* woken) noexcept;

  std::atomic<std::uint64_t> state_;
  const std::uint64_t total_;
  wait_queue queue_;
};

}  // namespace detail

// As Go's x/sync/semaphore: acquire(n) takes n permits together, or waits. FIFO: smaller requests that come later wait
// behind a large one, so that it is not starved. Throws logic_error if n is negative or more than the total, because
// such a request could never be served. The semaphore may be destroyed as soon as acquire() has returned.
class weighted_semaphore {
 public:
  // All permits are free at first.
  constexpr explicit weighted_semaphore(std::int64_t total, const char* name = nullptr) : core_(total, name) {}

  void acquire(std::int64_t n = 1) { core_.acquire(n, detail::forever, nullptr); }
  // False: the context was cancelled (perhaps before the call), and nothing was taken.
  [[nodiscard]] bool acquire(const context& until, std::int64_t n = 1) {
    return core_.acquire(n, detail::forever, &until);
  }
  [[nodiscard]] bool try_acquire(std::int64_t n = 1) { return core_.try_acquire(n); }
  template <class Rep, class Period>
  [[nodiscard]] bool acquire_for(std::int64_t n, std::chrono::duration<Rep, Period> limit) {
    return core_.acquire(n, detail::deadline_in(limit), nullptr);
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool acquire_until(std::int64_t n, std::chrono::time_point<Clock, Duration> limit) {
    return detail::wait_by_clock(
        limit, [&](std::int64_t deadline_ns) { return core_.acquire(n, deadline_ns, nullptr); });
  }
  // Throws logic_error, and changes nothing, if n is negative or more than have been acquired.
  void release(std::int64_t n = 1) { core_.release(n); }

  std::int64_t available() const noexcept { return core_.available(); }  // free at this moment
  std::int64_t total() const noexcept { return core_.total(); }

 private:
  detail::weighted_core core_;
};

}  // namespace weft
