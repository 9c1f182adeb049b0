// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "weft/chan.h"
#include "weft/detail/clock.h"
#include "weft/detail/deadline.h"
#include "weft/detail/select_cases.h"
#include "weft/selector.h"

// Select: waits for the first of several channel operations, ends of tasks and futures. If several are ready, one is
// chosen uniformly at random. For cases that are chosen at run time: selector.h.
namespace weft {

// on_recv calls its handler with a std::optional<T>, which is empty if the channel is closed. on_send calls its handler
// without arguments; a send on a closed channel throws logic_error. A channel, task or future that a case names must be
// left alone until select returns; the handler may change it. A value is converted as for chan::send, never by an
// explicit constructor. (`here` is for the library: detail/case_channel.h.)
template <class T, class F = detail::no_handler>
[[nodiscard]] auto on_recv(const chan<T>& channel, F handler = {}, detail::full_expression&& here = {}) {
  return detail::make_recv_case<T>(std::move(handler), channel, here);
}
template <class T, class F = detail::no_handler>
[[nodiscard]] auto on_recv(chan<T>&& channel, F handler = {}) {
  return detail::make_recv_case<T>(std::move(handler), std::move(channel));
}
template <class T, class F = detail::no_handler>
[[nodiscard]] auto on_recv(const chan_receiver<T>& channel, F handler = {}, detail::full_expression&& here = {}) {
  return detail::make_recv_case<T>(std::move(handler), channel, here);
}
template <class T, class F = detail::no_handler>
[[nodiscard]] auto on_recv(chan_receiver<T>&& channel, F handler = {}) {
  return detail::make_recv_case<T>(std::move(handler), std::move(channel));
}
template <class T, class V, class F = detail::no_handler>
  requires std::is_convertible_v<V&&, T>
[[nodiscard]] auto on_send(const chan<T>& channel, V&& value, F handler = {}, detail::full_expression&& here = {}) {
  return detail::make_send_case<T, V>(value, std::move(handler), channel, here);
}
template <class T, class V, class F = detail::no_handler>
  requires std::is_convertible_v<V&&, T>
[[nodiscard]] auto on_send(chan<T>&& channel, V&& value, F handler = {}) {
  return detail::make_send_case<T, V>(value, std::move(handler), std::move(channel));
}
template <class T, class V, class F = detail::no_handler>
  requires std::is_convertible_v<V&&, T>
[[nodiscard]] auto on_send(const chan_sender<T>& channel, V&& value, F handler = {},
                           detail::full_expression&& here = {}) {
  return detail::make_send_case<T, V>(value, std::move(handler), channel, here);
}
template <class T, class V, class F = detail::no_handler>
  requires std::is_convertible_v<V&&, T>
[[nodiscard]] auto on_send(chan_sender<T>&& channel, V&& value, F handler = {}) {
  return detail::make_send_case<T, V>(value, std::move(handler), std::move(channel));
}
// Ready when the task has ended. The handler gets what join() returns, and the task is joined then. An exception of the
// goroutine leaves select. A task that has been joined or moved from is never ready.
template <class Task, class F = detail::no_handler>
  requires detail::joinable_type<Task>
[[nodiscard]] auto on_join(Task&& task, F handler = {}) {
  static_assert(
      std::is_lvalue_reference_v<Task>,
      "weft::on_join: name a task that outlives select: a temporary one would be waited for when select ends");
  static_assert(detail::handles_join<Task, F>, WEFT_JOIN_HANDLER_SENTENCE("weft::on_join"));
  if constexpr (std::is_lvalue_reference_v<Task> && detail::handles_join<Task, F>) {
    return detail::join_case<Task, F>{task, std::move(handler)};
  } else {
    return detail::refused_case();
  }
}
// Ready when the future is. The handler is called with the future, whose value it may get(), or without arguments. A
// future that is not valid is never ready.
template <class Future, class F = detail::no_handler>
  requires detail::future_type<Future>
[[nodiscard]] auto on_ready(Future&& future, F handler = {}) {
  static_assert(detail::handles_ready<std::remove_reference_t<Future>, F>,
                WEFT_READY_HANDLER_SENTENCE("weft::on_ready"));
  if constexpr (detail::handles_ready<std::remove_reference_t<Future>, F>) {
    return detail::ready_case<Future, F>{std::forward<Future>(future), std::move(handler)};
  } else {
    return detail::refused_case();
  }
}
// Runs if no other case was ready before the time limit. A select has at most one.
template <class Rep, class Period, class F = detail::no_handler>
[[nodiscard]] auto on_timeout(std::chrono::duration<Rep, Period> limit, F handler = {}) {
  static_assert(std::is_invocable_v<F&>, WEFT_PLAIN_HANDLER_SENTENCE("weft::on_timeout"));
  return detail::timeout_case<detail::callable_or_none<F>>{detail::deadline_in(limit), std::move(handler)};
}
template <class Clock, class Duration, class F = detail::no_handler>
[[nodiscard]] auto on_deadline(std::chrono::time_point<Clock, Duration> limit, F handler = {}) {
  static_assert(std::is_invocable_v<F&>, WEFT_PLAIN_HANDLER_SENTENCE("weft::on_deadline"));
  using called = detail::callable_or_none<F>;
  if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
    return detail::timeout_case<called>{detail::deadline_of(limit), std::move(handler)};
  } else {
    return detail::clock_case<Clock, Duration, called>{{detail::deadline_of(limit), std::move(handler)}, limit};
  }
}
// Runs if no other case is ready: select does not block. A select has at most one.
template <class F = detail::no_handler>
[[nodiscard]] auto on_default(F handler = {}) {
  static_assert(std::is_invocable_v<F&>, WEFT_PLAIN_HANDLER_SENTENCE("weft::on_default"));
  return detail::default_case<detail::callable_or_none<F>>{std::move(handler)};
}

// Blocks until a case is ready, runs it, and returns its index. Without cases it blocks for ever.
template <class... Cases>
std::size_t select(Cases... cases) {
  constexpr bool are_cases = (detail::select_argument<Cases> && ...);
  static_assert(are_cases,
                "weft::select: each argument must be a case: on_recv, on_send, on_join, on_ready, on_timeout, "
                "on_deadline or on_default");
  if constexpr (are_cases) {
    return detail::select_cases(cases...);
  } else {
    return 0;
  }
}

}  // namespace weft
