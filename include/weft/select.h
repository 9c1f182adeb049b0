// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/chan.h"

// Select: wait for the first of several channel operations, chosen uniformly at random among those that are ready.
namespace weft {
namespace detail {

struct no_handler {
  template <class... A>
  void operator()(A&&...) const noexcept {}
};

enum class case_kind { channel, timeout, otherwise };

// The channel of a case that was made from a named one. The case is used in the expression it is made in, and the name outlives
// that: no need to count another handle, which is two locked operations for each case of each select.
class borrowed_chan {
 public:
  template <class T>
  explicit borrowed_chan(const chan<T>& channel) noexcept : core_(channel.core()) {}
  chan_core* core() const noexcept { return core_; }

 private:
  chan_core* core_;
};

// A timer's channel often has no other handle than the one that somebody made a case of and let go.
template <class T>
using lent_chan = std::conditional_t<std::is_same_v<T, time_point>, chan<T>, borrowed_chan>;

template <class T, class Handle, class F>
struct recv_case {
  static constexpr case_kind kind = case_kind::channel;
  Handle channel;
  F handler;
  storage_for<carried<T>> storage{};

  template <class Channel>
  recv_case(Channel&& c, F&& f) : channel(std::forward<Channel>(c)), handler(std::move(f)) {}
  recv_case(recv_case&& other) noexcept : channel(std::move(other.channel)), handler(std::move(other.handler)) {}

  void describe(select_case& out) { out = {channel.core(), &storage, false, false}; }
  void finish(const select_case& done) {
    std::optional<T> value;
    if (done.received) deliver<T>(storage, value);
    std::invoke(handler, std::move(value));
  }
};

// `Value` is T& or const T& (copied if this case wins) or T&& (moved if it wins).
template <class T, class Handle, class Value, class F>
struct send_case {
  static constexpr case_kind kind = case_kind::channel;
  static constexpr bool is_copied = std::is_lvalue_reference_v<Value>;
  Handle channel;
  std::remove_reference_t<Value>* value;
  F handler;

  template <class Channel>
  send_case(Channel&& c, std::remove_reference_t<Value>* v, F&& f)
      : channel(std::forward<Channel>(c)), value(v), handler(std::move(f)) {}
  send_case(send_case&&) noexcept = default;

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
template <class T, class Handle, class F>
struct converted_send_case : send_case<T, Handle, T&&, F> {
  T converted;
  template <class Channel, class V>
  converted_send_case(Channel&& c, V&& v, F&& f)
      : send_case<T, Handle, T&&, F>(std::forward<Channel>(c), nullptr, std::move(f)), converted(std::forward<V>(v)) {
    this->value = std::addressof(converted);
  }
  converted_send_case(converted_send_case&& other)
      : send_case<T, Handle, T&&, F>(std::move(other)), converted(std::move(other.converted)) {
    this->value = std::addressof(converted);
  }
};

template <class T, class Handle, class Channel, class V, class F>
auto make_send_case(Channel&& channel, V&& value, F&& handler) {
  if constexpr (std::is_same_v<std::remove_cvref_t<V>, T>) {
    return send_case<T, Handle, V&&, F>(std::forward<Channel>(channel), std::addressof(value), std::move(handler));
  } else {
    return converted_send_case<T, Handle, F>(std::forward<Channel>(channel), std::forward<V>(value), std::move(handler));
  }
}

template <class F>
struct timeout_case {
  static constexpr case_kind kind = case_kind::timeout;
  std::int64_t deadline_ns;
  F handler;
};

template <class F>
struct default_case {
  static constexpr case_kind kind = case_kind::otherwise;
  F handler;
};

template <class... Cases>
inline constexpr std::size_t channel_cases = (std::size_t{Cases::kind == case_kind::channel} + ... + 0);

}  // namespace detail

// A case belongs into the call of select: one made from a named channel does not keep that alive by itself.
template <class T, class F = detail::no_handler>
[[nodiscard]] auto on_recv(const chan<T>& channel, F handler = {}) {
  return detail::recv_case<T, detail::lent_chan<T>, F>(channel, std::move(handler));
}
template <class T, class F = detail::no_handler>
[[nodiscard]] auto on_recv(chan<T>&& channel, F handler = {}) {
  return detail::recv_case<T, chan<T>, F>(std::move(channel), std::move(handler));
}
template <class T, class V, class F = detail::no_handler>
[[nodiscard]] auto on_send(const chan<T>& channel, V&& value, F handler = {}) {
  return detail::make_send_case<T, detail::borrowed_chan>(channel, std::forward<V>(value), std::move(handler));
}
template <class T, class V, class F = detail::no_handler>
[[nodiscard]] auto on_send(chan<T>&& channel, V&& value, F handler = {}) {
  return detail::make_send_case<T, chan<T>>(std::move(channel), std::forward<V>(value), std::move(handler));
}
template <class Rep, class Period, class F = detail::no_handler>
auto on_timeout(std::chrono::duration<Rep, Period> limit, F handler = {}) {
  return detail::timeout_case<F>{detail::deadline_in(limit), std::move(handler)};
}
template <class F = detail::no_handler>
auto on_deadline(time_point limit, F handler = {}) {
  return detail::timeout_case<F>{detail::deadline_at(limit), std::move(handler)};
}
template <class F = detail::no_handler>
auto on_default(F handler = {}) {
  return detail::default_case<F>{std::move(handler)};
}

// Runs one case and returns its index. Without cases: blocks for ever.
template <class... Cases>
std::size_t select(Cases... cases) {
  using detail::case_kind;
  constexpr std::size_t timeouts = (std::size_t{Cases::kind == case_kind::timeout} + ... + 0);
  constexpr std::size_t defaults = (std::size_t{Cases::kind == case_kind::otherwise} + ... + 0);
  static_assert(timeouts <= 1, "weft::select: at most one on_timeout or on_deadline");
  static_assert(defaults <= 1, "weft::select: at most one on_default");
  std::array<detail::select_case, detail::channel_cases<Cases...>> table;
  std::int64_t deadline_ns = detail::forever;
  [[maybe_unused]] std::size_t filled = 0;
  [[maybe_unused]] const auto describe = [&](auto& one) {
    using one_type = std::remove_reference_t<decltype(one)>;
    if constexpr (one_type::kind == case_kind::channel) {
      one.describe(table[filled++]);
    } else if constexpr (one_type::kind == case_kind::timeout) {
      if (deadline_ns != 0) deadline_ns = one.deadline_ns == 0 ? 1 : one.deadline_ns;  // 0 means "do not wait"
    } else {
      deadline_ns = 0;
    }
  };
  (describe(cases), ...);
  const std::size_t chosen = detail::select_among(table.data(), table.size(), deadline_ns);
  [[maybe_unused]] std::size_t position = 0, index = 0;
  std::size_t result = 0;
  [[maybe_unused]] const auto finish = [&](auto& one) {
    using one_type = std::remove_reference_t<decltype(one)>;
    if constexpr (one_type::kind == case_kind::channel) {
      if (position == chosen) {
        result = index;
        one.finish(table[position]);
      }
      ++position;
    } else if (chosen == detail::no_case) {
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

// Cases chosen at run time; reusable: a send case keeps its value until it wins.
class selector {
 public:
  selector() = default;
  selector(const selector&) = delete;

  template <class T, class F = detail::no_handler>
  void recv(chan<T> channel, F handler = {}) {
    cases_.push_back(std::make_unique<recv_entry<T, F>>(std::move(channel), std::move(handler)));
  }
  template <class T, class V, class F = detail::no_handler>
  void send(chan<T> channel, V&& value, F handler = {}) {
    cases_.push_back(
        std::make_unique<send_entry<T, F>>(std::move(channel), T(std::forward<V>(value)), std::move(handler)));
  }
  std::size_t size() const noexcept { return cases_.size(); }
  void clear() noexcept { cases_.clear(); }

  std::size_t wait() { return *run(detail::forever); }
  std::optional<std::size_t> try_wait() { return run(0); }
  template <class Rep, class Period>
  std::optional<std::size_t> wait_for(std::chrono::duration<Rep, Period> limit) {
    const std::int64_t deadline_ns = detail::deadline_in(limit);
    return run(deadline_ns == 0 ? 1 : deadline_ns);
  }
  std::optional<std::size_t> wait_until(time_point limit) {
    const std::int64_t deadline_ns = detail::deadline_at(limit);
    return run(deadline_ns == 0 ? 1 : deadline_ns);
  }

 private:
  struct entry {
    virtual ~entry() = default;
    virtual void describe(detail::select_case& out) = 0;
    virtual void finish(const detail::select_case& done) = 0;
  };
  template <class T, class F>
  struct recv_entry final : entry {
    detail::recv_case<T, chan<T>, F> one;
    recv_entry(chan<T> channel, F handler) : one(std::move(channel), std::move(handler)) {}
    void describe(detail::select_case& out) override { one.describe(out); }
    void finish(const detail::select_case& done) override { one.finish(done); }
  };
  template <class T, class F>
  struct send_entry final : entry {
    chan<T> channel;
    std::optional<detail::carried<T>> value;
    F handler;
    send_entry(chan<T> c, T&& v, F f) : channel(std::move(c)), handler(std::move(f)) {
      if constexpr (detail::is_boxed<T>) {
        value.emplace(std::make_unique<T>(std::move(v)));
      } else {
        value.emplace(std::move(v));
      }
    }
    // Sent already: as a nil channel, never ready again.
    void describe(detail::select_case& out) override {
      out = {value ? channel.core() : nullptr, value ? &*value : nullptr, true, false};
    }
    void finish(const detail::select_case&) override {
      value.reset();
      std::invoke(handler);
    }
  };

  std::optional<std::size_t> run(std::int64_t deadline_ns) {
    std::array<detail::select_case, 8> small;
    std::vector<detail::select_case> large;
    detail::select_case* table = small.data();
    if (cases_.size() > small.size()) {
      large.resize(cases_.size());
      table = large.data();
    }
    for (std::size_t i = 0; i < cases_.size(); ++i) cases_[i]->describe(table[i]);
    const std::size_t chosen = detail::select_among(table, cases_.size(), deadline_ns);
    if (chosen == detail::no_case) return std::nullopt;
    cases_[chosen]->finish(table[chosen]);
    return chosen;
  }

  std::vector<std::unique_ptr<entry>> cases_;
};

}  // namespace weft
