// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/chan.h"
#include "weft/detail/case_channel.h"

// Select: wait for the first of several channel operations, chosen uniformly at random among those that are ready.
namespace weft {
namespace detail {

struct no_handler {
  template <class... A>
  void operator()(A&&...) const noexcept {}
};

enum class case_kind { channel, timeout, otherwise };

template <class T, class F>
struct recv_case {
  static constexpr case_kind kind = case_kind::channel;
  case_channel channel;
  F handler;
  storage_for<carried<T>> storage;

  recv_case(const chan<T>& c, full_expression& here, F f) : channel(c.core(), here), handler(std::move(f)) {}
  recv_case(chan<T>&& c, F f) : channel(c.detach()), handler(std::move(f)) {}
  recv_case(recv_case&& other) noexcept : channel(std::move(other.channel)), handler(std::move(other.handler)) {}

  void describe(select_case& out) { out = {channel.core(), &storage, false, false}; }
  void finish(const select_case& done) {
    std::optional<T> value;
    if (done.received) deliver<T>(storage, value);
    std::invoke(handler, std::move(value));
  }
};

// `Value` is T&& (moved if this case wins), or T&, const T& or const T&& (copied if it wins: a const object is never moved from).
template <class T, class Value, class F>
struct send_case {
  static constexpr case_kind kind = case_kind::channel;
  static constexpr bool is_copied = !std::is_same_v<Value, T&&>;
  case_channel channel;
  std::remove_reference_t<Value>* value;
  F handler;

  send_case(const chan<T>& c, full_expression& here, std::remove_reference_t<Value>* v, F f)
      : channel(c.core(), here), value(v), handler(std::move(f)) {}
  send_case(chan<T>&& c, std::remove_reference_t<Value>* v, F f)
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
  converted_send_case(const chan<T>& c, full_expression& here, V&& v, F f)
      : base(c, here, nullptr, std::move(f)), converted(std::forward<V>(v)) {
    this->value = std::addressof(converted);
  }
  template <class V>
  converted_send_case(chan<T>&& c, V&& v, F f)
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

// A time limit by another clock than the steady one, which is asked again when the time should have come.
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

template <class... Cases>
inline constexpr std::size_t channel_cases = (std::size_t{Cases::kind == case_kind::channel} + ... + 0);

}  // namespace detail

// A handle that is named in a case must be left alone until select returns; its handler may change it. (`here` is for the library:
// detail/case_channel.h.) A value is converted as for chan::send, never by an explicit constructor.
template <class T, class F = detail::no_handler>
[[nodiscard]] auto on_recv(const chan<T>& channel, F handler = {}, detail::full_expression&& here = {}) {
  return detail::recv_case<T, F>(channel, here, std::move(handler));
}
template <class T, class F = detail::no_handler>
[[nodiscard]] auto on_recv(chan<T>&& channel, F handler = {}) {
  return detail::recv_case<T, F>(std::move(channel), std::move(handler));
}
template <class T, class V, class F = detail::no_handler>
  requires std::is_convertible_v<V&&, T>
[[nodiscard]] auto on_send(const chan<T>& channel, V&& value, F handler = {}, detail::full_expression&& here = {}) {
  if constexpr (std::is_same_v<std::remove_cvref_t<V>, T>) {
    return detail::send_case<T, V&&, F>(channel, here, std::addressof(value), std::move(handler));
  } else {
    return detail::converted_send_case<T, F>(channel, here, std::forward<V>(value), std::move(handler));
  }
}
template <class T, class V, class F = detail::no_handler>
  requires std::is_convertible_v<V&&, T>
[[nodiscard]] auto on_send(chan<T>&& channel, V&& value, F handler = {}) {
  if constexpr (std::is_same_v<std::remove_cvref_t<V>, T>) {
    return detail::send_case<T, V&&, F>(std::move(channel), std::addressof(value), std::move(handler));
  } else {
    return detail::converted_send_case<T, F>(std::move(channel), std::forward<V>(value), std::move(handler));
  }
}
template <class Rep, class Period, class F = detail::no_handler>
[[nodiscard]] auto on_timeout(std::chrono::duration<Rep, Period> limit, F handler = {}) {
  return detail::timeout_case<F>{detail::deadline_in(limit), std::move(handler)};
}
template <class Clock, class Duration, class F = detail::no_handler>
[[nodiscard]] auto on_deadline(std::chrono::time_point<Clock, Duration> limit, F handler = {}) {
  if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
    return detail::timeout_case<F>{detail::deadline_of(limit), std::move(handler)};
  } else {
    return detail::clock_case<Clock, Duration, F>{{detail::deadline_of(limit), std::move(handler)}, limit};
  }
}
template <class F = detail::no_handler>
[[nodiscard]] auto on_default(F handler = {}) {
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
  std::size_t chosen = detail::select_among(table.data(), table.size(), deadline_ns);
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
    while (chosen == detail::no_case && (is_too_early(cases) || ...))
      chosen = detail::select_among(table.data(), table.size(), deadline_ns);
  }
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

// Cases chosen at run time, for any number of waits. A value given as an lvalue, or of a trivially copyable type, is sent each
// time its case wins; one that was moved in, or cannot be copied, is sent once, and its case is then never ready, as a nil
// channel's. recv() and send() return the index of their case. A handler may change the selector it was called by.
class selector {
 public:
  selector() = default;
  selector(const selector&) = delete;

  template <class T, class F = detail::no_handler>
  std::size_t recv(chan<T> channel, F handler = {}) {
    return add(std::make_unique<recv_entry<T, F>>(std::move(channel), std::move(handler)));
  }
  template <class T, class V, class F = detail::no_handler>
    requires std::is_convertible_v<V&&, T>
  std::size_t send(chan<T> channel, V&& value, F handler = {}) {
    // A type without a copy constructor may be trivially copyable all the same.
    constexpr bool is_repeated =
        std::is_copy_constructible_v<T> && (std::is_lvalue_reference_v<V> || std::is_trivially_copyable_v<T>);
    using entry_type = std::conditional_t<is_repeated, send_entry<T, F>, send_once_entry<T, F>>;
    return add(std::make_unique<entry_type>(std::move(channel), T(std::forward<V>(value)), std::move(handler)));
  }
  std::size_t size() const noexcept { return cases_.size(); }
  void clear() {
    if (handlers_running_ != 0)
      dropped_.insert(dropped_.end(), std::make_move_iterator(cases_.begin()), std::make_move_iterator(cases_.end()));
    cases_.clear();
  }

  std::size_t wait() { return *run(detail::forever); }
  std::optional<std::size_t> try_wait() { return run(0); }
  template <class Rep, class Period>
  std::optional<std::size_t> wait_for(std::chrono::duration<Rep, Period> limit) {
    const std::int64_t deadline_ns = detail::deadline_in(limit);
    return run(deadline_ns == 0 ? 1 : deadline_ns);
  }
  template <class Clock, class Duration>
  std::optional<std::size_t> wait_until(std::chrono::time_point<Clock, Duration> limit) {
    std::optional<std::size_t> chosen;
    detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) {
      chosen = run(deadline_ns == 0 ? 1 : deadline_ns);
      return chosen.has_value();
    });
    return chosen;
  }

 private:
  struct entry {
    virtual ~entry() = default;
    virtual void describe(detail::select_case& out) = 0;
    virtual void finish(const detail::select_case& done) = 0;
  };
  template <class T, class F>
  struct recv_entry final : entry {
    detail::recv_case<T, F> one;
    recv_entry(chan<T> channel, F handler) : one(std::move(channel), std::move(handler)) {}
    void describe(detail::select_case& out) override { one.describe(out); }
    void finish(const detail::select_case& done) override { one.finish(done); }
  };
  template <class T, class F>
  struct send_once_entry : entry {
    chan<T> channel;
    std::optional<detail::carried<T>> value;
    F handler;
    send_once_entry(chan<T> c, T&& v, F f) : channel(std::move(c)), handler(std::move(f)) { carry(std::move(v)); }
    void carry(T&& v) {
      if constexpr (detail::is_boxed<T>) {
        value.emplace(std::make_unique<T>(std::move(v)));
      } else {
        value.emplace(std::move(v));
      }
    }
    void describe(detail::select_case& out) override {
      out = {value ? channel.core() : nullptr, value ? std::addressof(*value) : nullptr, true, false};
    }
    void finish(const detail::select_case&) override {
      value.reset();
      std::invoke(handler);
    }
  };
  template <class T, class F>
  struct send_entry final : send_once_entry<T, F> {
    T original;
    send_entry(chan<T> c, T&& v, F f)
        : send_once_entry<T, F>(std::move(c), T(v), std::move(f)), original(std::move(v)) {}
    void describe(detail::select_case& out) override {
      if (!this->value) this->carry(T(original));
      send_once_entry<T, F>::describe(out);
    }
  };

  // While a handler runs, what it drops is kept: it may be the handler.
  class running_handler {
   public:
    explicit running_handler(selector& of) : of_(of) { ++of_.handlers_running_; }
    ~running_handler() {
      if (--of_.handlers_running_ == 0) of_.dropped_.clear();
    }
    running_handler(const running_handler&) = delete;

   private:
    selector& of_;
  };

  std::size_t add(std::unique_ptr<entry> one) {
    cases_.push_back(std::move(one));
    return cases_.size() - 1;
  }

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
    const running_handler running(*this);
    cases_[chosen]->finish(table[chosen]);
    return chosen;
  }

  std::vector<std::unique_ptr<entry>> cases_;
  std::vector<std::unique_ptr<entry>> dropped_;
  int handlers_running_ = 0;
};

}  // namespace weft
