// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "weft/detail/clock.h"
#include "weft/detail/deadline.h"
#include "weft/detail/happens_before.h"
#include "weft/detail/holder_hint.h"
#include "weft/detail/wait_queue.h"

namespace weft {

namespace detail {

[[noreturn]] void throw_bad_number_of_permits();

// Permits, and a FIFO queue of waiters.
class semaphore_core {
 public:
  constexpr semaphore_core(std::ptrdiff_t desired, std::ptrdiff_t most, const char* name = nullptr)
      : state_(static_cast<std::uint64_t>(desired) * kOne), queue_(name) {
    if (desired < 0 || desired > most) throw_bad_number_of_permits();
  }
  semaphore_core(const semaphore_core&) = delete;

  bool try_acquire() noexcept {
    switch_point();
    std::uint64_t state = state_.load(std::memory_order_relaxed);
    while (state >= kOne) {
      if (state_.compare_exchange_weak(state, state - kOne, std::memory_order_acquire,  // pairs: semaphore.state
                                       std::memory_order_relaxed)) {
        order_acquire(&state_);
        return true;
      }
    }
    return false;
  }
  bool acquire(std::int64_t deadline_ns) noexcept { return try_acquire() || acquire_slow(deadline_ns); }
  void release(std::ptrdiff_t n, std::ptrdiff_t most);

 private:
  friend struct inspector;
  bool acquire_slow(std::int64_t deadline_ns) noexcept;
  static constexpr std::uint64_t kWaiting = 1, kOne = 2;  // kWaiting: set and cleared under the queue's lock
  std::atomic<std::uint64_t> state_;
  wait_queue queue_;
};

}  // namespace detail

// FIFO: a permit goes to the longest waiter. The semaphore may be destroyed as soon as acquire() has returned.
template <std::ptrdiff_t LeastMaxValue = std::numeric_limits<std::ptrdiff_t>::max()>
class counting_semaphore {
  static_assert(LeastMaxValue >= 0);

 public:
  constexpr explicit counting_semaphore(std::ptrdiff_t desired, const char* name = nullptr)
      : core_(desired, max(), name) {}
  static constexpr std::ptrdiff_t max() noexcept { return LeastMaxValue; }

  // Throws logic_error, and changes nothing, if the number is negative or there would be more than max() permits.
  void release(std::ptrdiff_t update = 1) { core_.release(update, max()); }
  // Blocks until there is a permit.
  void acquire() { core_.acquire(detail::forever); }
  bool try_acquire() noexcept { return core_.try_acquire(); }
  template <class Rep, class Period>
  bool try_acquire_for(std::chrono::duration<Rep, Period> limit) {
    return core_.acquire(detail::deadline_in(limit));
  }
  template <class Clock, class Duration>
  bool try_acquire_until(std::chrono::time_point<Clock, Duration> limit) {
    return detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) { return core_.acquire(deadline_ns); });
  }

 private:
  detail::semaphore_core core_;
};
using binary_semaphore = counting_semaphore<1>;
using semaphore = counting_semaphore<>;

}  // namespace weft
