// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/chan.h"
#include "weft/detail/case_channel.h"
#include "weft/detail/deadline.h"
#include "weft/detail/event_cases.h"

// The cases of a select, and what it does with them (tasks and futures: event_cases.h).

// The errors for a handler that cannot be called.
#define WEFT_RECV_HANDLER_SENTENCE(name)                                                                             \
  name ": the handler must be callable with one std::optional<T>, which is empty when the channel is closed: write " \
       "[&](std::optional<T> value) { ... }"
#define WEFT_PLAIN_HANDLER_SENTENCE(name) name ": the handler must be callable without arguments: write [&] { ... }"
#define WEFT_JOIN_HANDLER_SENTENCE(name)                                                                               \
  name ": the handler must be callable with what join() returns, or without arguments if that is void: for a task<T> " \
       "write [&](T value) { ... }"
#define WEFT_READY_HANDLER_SENTENCE(name)                                                            \
  name ": the handler must be callable with the future or without arguments: for a future<T> write " \
       "[&](weft::future<T>& ready) { ... ready.get() ... }"

namespace weft::detail {

template <class T, class F>
struct recv_case {
  static constexpr case_kind kind = case_kind::channel;
  case_channel channel;
  F handler;
  storage_for<carried<T>> storage;

  recv_case(const chan_handle& c, full_expression& here, F f) : channel(c.core(), here), handler(std::move(f)) {}
  recv_case(chan_handle&& c, F f) : channel(c.detach()), handler(std::move(f)) {}
  recv_case(recv_case&& other) noexcept : channel(std::move(other.channel)), handler(std::move(other.handler)) {}

  void describe(select_case& out) { out = {channel.core(), &storage, false, false}; }
  void finish(const select_case& done) {
    std::optional<T> value;
    if (done.received) deliver<T>(storage, value);
    std::invoke(handler, std::move(value));
  }
};

// `Value` is T&& (moved if this case wins), or T&, const T& or const T&& (copied if it wins). A const object is never
// moved from.
template <class T, class Value, class F>
struct send_case {
  static constexpr case_kind kind = case_kind::channel;
  static constexpr bool is_copied = !std::is_same_v<Value, T&&>;
  case_channel channel;
  std::remove_reference_t<Value>* value;
  F handler;

  send_case(const chan_handle& c, full_expression& here, std::remove_reference_t<Value>* v, F f)
      : channel(c.core(), here), value(v), handler(std::move(f)) {}
  send_case(chan_handle&& c, std::remove_reference_t<Value>* v, F f)
      : channel(c.detach()), value(v), handler(std::move(f)) {}

  void describe(select_case& out) {
    out = {channel.core(), const_cast<std::remove_const_t<std::remove_reference_t<Value>>*>(value), true, false};
    if constexpr (is_boxed<T>) {
      out.copy = is_copied ? copier() : &box_moved<T>;
    } else if constexpr (is_copied) {
      out.copy = copier();
    }
  }
  void finish(const select_case&) { std::invoke(handler); }

 private:
  static auto copier() -> void (*)(void*, const void*) {
    if constexpr (!is_copied) {
      return nullptr;
    } else if constexpr (is_boxed<T>) {
      return &box_copied<T>;
    } else {
      return [](void* to, const void* from) { ::new (to) T(*static_cast<const T*>(from)); };
    }
  }
};

// A value of another type is converted now; the case owns the result.
template <class T, class F>
struct converted_send_case : send_case<T, T&&, F> {
  using base = send_case<T, T&&, F>;
  T converted;
  template <class V>
  converted_send_case(const chan_handle& c, full_expression& here, V&& v, F f)
      : base(c, here, nullptr, std::move(f)), converted(std::forward<V>(v)) {
    this->value = std::addressof(converted);
  }
  template <class V>
  converted_send_case(chan_handle&& c, V&& v, F f)
      : base(std::move(c), nullptr, std::move(f)), converted(std::forward<V>(v)) {
    this->value = std::addressof(converted);
  }
  converted_send_case(converted_send_case&& other) : base(std::move(other)), converted(std::move(other.converted)) {
    this->value = std::addressof(converted);
  }
};

template <class F>
struct timeout_case {
  static constexpr case_kind kind = case_kind::timeout;
  std::int64_t deadline_ns;
  F handler;
};

// A time limit of another clock than the steady one. That clock is read again when the time should have come.
template <class Clock, class Duration, class F>
struct clock_case : timeout_case<F> {
  std::chrono::time_point<Clock, Duration> limit;
  bool is_too_early() {
    if (has_come(limit)) return false;
    this->deadline_ns = deadline_of(limit);
    return true;
  }
};

template <class F>
struct default_case {
  static constexpr case_kind kind = case_kind::otherwise;
  F handler;
};

template <class T>
concept select_argument = requires {
  { T::kind } -> std::convertible_to<case_kind>;
};
template <class T>
inline constexpr bool is_waiting = T::kind == case_kind::channel || T::kind == case_kind::event;
template <class... Cases>
inline constexpr std::size_t channel_cases = (std::size_t{Cases::kind == case_kind::channel} + ... + 0);
template <class... Cases>
inline constexpr std::size_t event_cases = (std::size_t{Cases::kind == case_kind::event} + ... + 0);

// F or, after a static_assert has refused F, a stand-in that takes it and can be called.
struct any_handler : no_handler {
  template <class F>
  any_handler(F&&) noexcept {}
};
template <class F>
using callable_or_none = std::conditional_t<std::is_invocable_v<F&>, F, any_handler>;

// Stands in for a case whose handler was refused, so that the sentence about the handler is the only error.
struct refused_case {
  static constexpr case_kind kind = case_kind::channel;
  void describe(select_case& out) { out = {nullptr, nullptr, false, false}; }
  void finish(const select_case&) {}
};

template <class T, class F, class... Channel>
auto make_recv_case(F&& handler, Channel&&... channel) {
  constexpr bool is_right = std::is_invocable_v<F&, std::optional<T>>;
  static_assert(is_right, WEFT_RECV_HANDLER_SENTENCE("weft::on_recv"));
  if constexpr (is_right) {
    return recv_case<T, F>(std::forward<Channel>(channel)..., std::move(handler));
  } else {
    return refused_case();
  }
}
template <class T, class V, class F, class... Channel>
auto make_send_case(std::remove_reference_t<V>& value, F&& handler, Channel&&... channel) {
  static_assert(std::is_invocable_v<F&>, WEFT_PLAIN_HANDLER_SENTENCE("weft::on_send"));
  if constexpr (!std::is_invocable_v<F&>) {
    return refused_case();
  } else if constexpr (std::is_same_v<std::remove_cvref_t<V>, T>) {
    return send_case<T, V&&, F>(std::forward<Channel>(channel)..., std::addressof(value), std::move(handler));
  } else {
    return converted_send_case<T, F>(std::forward<Channel>(channel)..., static_cast<V&&>(value), std::move(handler));
  }
}

// Runs a select of which no case was refused.
template <class... Cases>
__attribute__((always_inline)) inline std::size_t select_cases(Cases&... cases) {
  constexpr std::size_t timeouts = (std::size_t{Cases::kind == case_kind::timeout} + ... + 0);
  constexpr std::size_t defaults = (std::size_t{Cases::kind == case_kind::otherwise} + ... + 0);
  static_assert(timeouts <= 1, "weft::select: at most one on_timeout or on_deadline");
  static_assert(defaults <= 1, "weft::select: at most one on_default");
  constexpr std::size_t events = event_cases<Cases...>;
  std::array<select_case, channel_cases<Cases...> + events> table;
  std::int64_t deadline_ns = forever;
  [[maybe_unused]] std::size_t filled = 0;
  [[maybe_unused]] const auto describe = [&](auto& one) {
    using one_type = std::remove_reference_t<decltype(one)>;
    if constexpr (is_waiting<one_type>) {
      one.describe(table[filled++]);
    } else if constexpr (one_type::kind == case_kind::timeout) {
      if (deadline_ns != 0) deadline_ns = one.deadline_ns == 0 ? 1 : one.deadline_ns;  // 0 means "do not wait"
    } else {
      deadline_ns = 0;
    }
  };
  (describe(cases), ...);
  const auto choose = [&] {
    return events == 0 ? select_among(table.data(), table.size(), deadline_ns)
                       : select_among_all(table.data(), table.size(), deadline_ns);
  };
  std::size_t chosen = choose();
  if constexpr (defaults == 0 && timeouts != 0) {
    [[maybe_unused]] const auto is_too_early = [&](auto& one) {
      if constexpr (requires { one.is_too_early(); }) {
        if (!one.is_too_early()) return false;
        deadline_ns = one.deadline_ns;
        return true;
      } else {
        return false;
      }
    };
    while (chosen == no_case && (is_too_early(cases) || ...)) chosen = choose();
  }
  [[maybe_unused]] std::size_t position = 0, index = 0;
  std::size_t result = 0;
  [[maybe_unused]] const auto finish = [&](auto& one) {
    using one_type = std::remove_reference_t<decltype(one)>;
    if constexpr (is_waiting<one_type>) {
      if (position == chosen) {
        result = index;
        one.finish(table[position]);
      }
      ++position;
    } else if (chosen == no_case) {
      if (defaults == 0 || one_type::kind == case_kind::otherwise) {
        result = index;
        std::invoke(one.handler);
      }
    }
    ++index;
  };
  (finish(cases), ...);
  return result;
}

}  // namespace weft::detail
