// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include "weft/detail/clock.h"
#include "weft/detail/deadline.h"
#include "weft/detail/event_cases.h"
#include "weft/error.h"

// Wait for the first of several tasks and futures.
namespace weft {
namespace detail {

template <class R>
concept awaitable_range = std::ranges::forward_range<R> && awaitable_type<std::ranges::range_value_t<R>>;

inline std::size_t wait_for_any(select_case* cases, std::size_t count, std::int64_t deadline_ns) {
  bool is_any = false;
  for (std::size_t i = 0; i < count; ++i) is_any = is_any || cases[i].source != case_source::channel;
  if (!is_any) throw logic_error("weft: wait_any: there is nothing to wait for: no task is joinable, no future valid");
  return select_among_all(cases, count, deadline_ns);
}
template <awaitable_type... A>
std::size_t wait_for_any_of(std::int64_t deadline_ns, const A&... awaited) {
  std::array<select_case, sizeof...(A)> cases{case_of(awaited)...};
  return wait_for_any(cases.data(), cases.size(), deadline_ns);
}
template <awaitable_range R>
std::size_t wait_for_any_in(std::int64_t deadline_ns, R& range) {
  std::array<select_case, 8> few;
  std::vector<select_case> many;
  const auto count = static_cast<std::size_t>(std::ranges::distance(range));
  if (count > few.size()) many.resize(count);
  select_case* const cases = count > few.size() ? many.data() : few.data();
  std::size_t i = 0;
  for (const auto& one : range) cases[i++] = case_of(one);
  return wait_for_any(cases, count, deadline_ns);
}
inline std::optional<std::size_t> index_or_none(std::size_t chosen) {
  return chosen == no_case ? std::nullopt : std::optional(chosen);
}

}  // namespace detail

// Blocks until a task or future is ready, and returns its index; of several, one chosen uniformly at random. It takes
// nothing: join() or get() is left to the caller. Tasks that were joined and futures whose value was taken are skipped,
// so that a loop can wait for one after the other. Throws logic_error if nothing else is left.
template <detail::awaitable_type... A>
  requires(sizeof...(A) != 0)
std::size_t wait_any(const A&... awaited) {
  return detail::wait_for_any_of(detail::forever, awaited...);
}
template <detail::awaitable_range R>
std::size_t wait_any(R&& range) {
  return detail::wait_for_any_in(detail::forever, range);
}

// The same with a time limit, which is the first argument. Nullopt: none was ready before it.
template <class Rep, class Period, detail::awaitable_type... A>
  requires(sizeof...(A) != 0)
std::optional<std::size_t> wait_any_for(std::chrono::duration<Rep, Period> limit, const A&... awaited) {
  return detail::index_or_none(detail::wait_for_any_of(detail::deadline_in(limit), awaited...));
}
template <class Rep, class Period, detail::awaitable_range R>
std::optional<std::size_t> wait_any_for(std::chrono::duration<Rep, Period> limit, R&& range) {
  return detail::index_or_none(detail::wait_for_any_in(detail::deadline_in(limit), range));
}
template <class Clock, class Duration, detail::awaitable_type... A>
  requires(sizeof...(A) != 0)
std::optional<std::size_t> wait_any_until(std::chrono::time_point<Clock, Duration> limit, const A&... awaited) {
  std::size_t chosen = detail::no_case;
  detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) {
    chosen = detail::wait_for_any_of(deadline_ns, awaited...);
    return chosen != detail::no_case;
  });
  return detail::index_or_none(chosen);
}
template <class Clock, class Duration, detail::awaitable_range R>
std::optional<std::size_t> wait_any_until(std::chrono::time_point<Clock, Duration> limit, R&& range) {
  std::size_t chosen = detail::no_case;
  detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) {
    chosen = detail::wait_for_any_in(deadline_ns, range);
    return chosen != detail::no_case;
  });
  return detail::index_or_none(chosen);
}

}  // namespace weft
