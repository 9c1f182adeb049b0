// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "weft/detail/countdown.h"
#include "weft/detail/deadline.h"

namespace weft {

namespace detail {
[[noreturn]] void throw_negative_latch();
}  // namespace detail

// Counts down once. The waiters go on when it reaches zero.
class latch {
 public:
  // Throws logic_error if the number is negative.
  constexpr explicit latch(std::ptrdiff_t expected, const char* name = nullptr)
      : countdown_(static_cast<std::uint64_t>(expected), name) {
    if (expected < 0) detail::throw_negative_latch();
  }
  latch(const latch&) = delete;

  static constexpr std::ptrdiff_t max() noexcept { return std::numeric_limits<std::ptrdiff_t>::max(); }

  // Throws logic_error, and changes nothing, if n is negative or more than is left.
  void count_down(std::ptrdiff_t n = 1);
  bool try_wait() const noexcept { return countdown_.is_zero(); }
  // Blocks until the count is zero.
  void wait() const { wait_until_ns(detail::forever); }
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> limit) const {
    return wait_until_ns(detail::deadline_in(limit));
  }
  template <class Clock, class Duration>
  bool wait_until(std::chrono::time_point<Clock, Duration> limit) const {
    return detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) { return wait_until_ns(deadline_ns); });
  }
  void arrive_and_wait(std::ptrdiff_t n = 1) {
    count_down(n);
    wait();
  }

 private:
  friend struct detail::inspector;
  bool wait_until_ns(std::int64_t deadline_ns) const;
  mutable detail::countdown countdown_;
};

}  // namespace weft
