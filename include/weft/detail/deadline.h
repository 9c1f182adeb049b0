// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <type_traits>

#include "weft/detail/clock.h"

namespace weft::detail {

// Time points of any clock, as std's timed functions take them; those of other clocks by what is left now.
template <class Clock, class Duration>
std::int64_t deadline_of(std::chrono::time_point<Clock, Duration> when) {
  if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
    return to_ns(when.time_since_epoch());
  } else {
    using seconds = std::chrono::duration<long double>;  // cannot overflow
    return deadline_in(seconds(when.time_since_epoch()) - seconds(Clock::now().time_since_epoch()));
  }
}

}  // namespace weft::detail
