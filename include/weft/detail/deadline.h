// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <type_traits>

#include "weft/detail/clock.h"

// Time points of any clock, as std's timed functions take them.
//   Never early  The library waits on the steady clock. A wait for another clock's time point lasts as long as that
//                clock says is left; then the clock is read again, and if it has been set back or runs slower, the
//                rest is waited for.
//   Known gap    A clock that is set forward during the wait is noticed when the time that was left before is over.
namespace weft::detail {

// By the time point's own clock; cannot overflow.
template <class Clock, class Duration>
std::chrono::duration<long double> left_until(std::chrono::time_point<Clock, Duration> when) {
  using seconds = std::chrono::duration<long double>;
  return seconds(when.time_since_epoch()) - seconds(Clock::now().time_since_epoch());
}

template <class Clock, class Duration>
std::int64_t deadline_of(std::chrono::time_point<Clock, Duration> when) {
  if (when == when.max()) return forever;
  if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
    return to_ns(when.time_since_epoch());
  } else {
    return deadline_in(left_until(when));
  }
}

template <class Clock, class Duration>
bool has_come(std::chrono::time_point<Clock, Duration> when) {
  if (when == when.max()) return false;
  if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
    return to_ns(when.time_since_epoch()) <= deadline_at(std::chrono::steady_clock::now());
  } else {
    return !(left_until(when).count() > 0);
  }
}

// wait(deadline_ns) returns whether it got what it waited for. It is called again while the time has not come by the
// limit's own clock.
template <class Clock, class Duration, class Wait>
bool wait_by_clock(std::chrono::time_point<Clock, Duration> limit, Wait wait) {
  for (;;) {
    if (wait(deadline_of(limit))) return true;
    if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
      return false;
    } else {
      if (has_come(limit)) return false;
    }
  }
}

}  // namespace weft::detail
