// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <ratio>
#include <type_traits>

#include "weft/detail/errno.h"

namespace weft {

using time_point = std::chrono::steady_clock::time_point;

namespace detail {

inline constexpr std::int64_t forever = INT64_MAX;

// Any duration as nanoseconds, rounded up; too large means for ever, negative (or not a number) means now.
template <class Rep, class Period>
constexpr std::int64_t to_ns(std::chrono::duration<Rep, Period> duration) {
  using wide = std::chrono::duration<long double, std::nano>;
  if (!(duration > duration.zero())) return 0;  // also if it is not a number
  using factor = std::ratio_divide<Period, std::nano>;
  if constexpr (std::is_integral_v<Rep> && sizeof(Rep) <= sizeof(std::int64_t) && factor::den == 1) {
    const auto count = static_cast<std::uint64_t>(duration.count());
    return count > static_cast<std::uint64_t>(forever / factor::num) ? forever
                                                                     : static_cast<std::int64_t>(count * factor::num);
  }
  const long double ns = std::chrono::duration_cast<wide>(duration).count();
  if (!(ns < 9.2e18L)) return forever;
  const auto whole = static_cast<std::int64_t>(ns);
  return static_cast<long double>(whole) < ns ? whole + 1 : whole;
}

inline std::int64_t deadline_at(time_point when) {
  if (when == time_point::max()) return forever;
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(when.time_since_epoch()).count();
  return ns < 0 ? 0 : ns;
}

template <class Rep, class Period>
std::int64_t deadline_in(std::chrono::duration<Rep, Period> duration) {
  const std::int64_t ns = to_ns(duration);
  const std::int64_t now = deadline_at(std::chrono::steady_clock::now());
  return ns >= forever - now ? forever : now + ns;
}

}  // namespace detail
}  // namespace weft
