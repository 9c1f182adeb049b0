// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>

#include "weft/detail/clock.h"
#include "weft/detail/countdown.h"
#include "weft/detail/deadline.h"

namespace weft {

// A flag that goroutines and threads wait for. Once set, it stays set until reset().
class event {
 public:
  constexpr event() noexcept = default;
  constexpr explicit event(const char* name) noexcept : countdown_(1, name) {}
  event(const event&) = delete;
  void set() noexcept { countdown_.subtract(1); }
  void reset() noexcept { countdown_.reset(1); }
  bool is_set() const noexcept { return countdown_.is_zero(); }
  // Blocks until the flag is set.
  void wait() { wait_until_ns(detail::forever); }
  // False: the flag is not set at the time limit.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> limit) {
    return wait_until_ns(detail::deadline_in(limit));
  }
  template <class Clock, class Duration>
  bool wait_until(std::chrono::time_point<Clock, Duration> limit) {
    return detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) { return wait_until_ns(deadline_ns); });
  }

 private:
  friend struct detail::inspector;
  bool wait_until_ns(std::int64_t deadline_ns);
  detail::countdown countdown_{1};
};

}  // namespace weft
