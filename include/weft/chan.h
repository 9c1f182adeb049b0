// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/detail/chan_core.h"
#include "weft/detail/clock.h"
#include "weft/detail/deadline.h"
#include "weft/error.h"

// Channels with Go's semantics, for goroutines and plain threads.
namespace weft {

enum class chan_status { received, empty, closed };

template <class T>
struct recv_result {
  chan_status status = chan_status::empty;
  std::optional<T> value;
  explicit operator bool() const noexcept { return status == chan_status::received; }
};

namespace detail {

// What a channel of T really carries. A T whose move may throw travels in a box: one that is sent for certain is boxed before
// anything is shared, one that may stay with its sender when its turn has come (box_moved, box_copied). An exception then meets
// only the one whose move it was.
template <class T>
inline constexpr bool is_boxed = !std::is_nothrow_move_constructible_v<T>;

template <class T>
using carried = std::conditional_t<is_boxed<T>, std::unique_ptr<T>, T>;

template <class T>
void box_moved(void* to, const void* from) {
  ::new (to) std::unique_ptr<T>(std::make_unique<T>(std::move(*static_cast<T*>(const_cast<void*>(from)))));
}
template <class T>
void box_copied(void* to, const void* from) {
  ::new (to) std::unique_ptr<T>(std::make_unique<T>(*static_cast<const T*>(from)));
}

template <class E>
struct element_traits {
  static constexpr bool is_trivial = std::is_trivially_copyable_v<E>;
  static constexpr bool is_nothing = is_trivial && std::is_empty_v<E>;
  static void move(void* to, void* from) noexcept { ::new (to) E(std::move(*static_cast<E*>(from))); }
  static void destroy(void* element) noexcept { std::destroy_at(static_cast<E*>(element)); }
  static constexpr element_ops ops{is_nothing ? 0 : sizeof(E), alignof(E), is_trivial ? nullptr : &move,
                                   std::is_trivially_destructible_v<E> ? nullptr : &destroy};
};

// Room for one element, constructed by the channel.
template <class E>
union storage_for {
  storage_for() noexcept {}
  ~storage_for() {}
  E element;
};

// Moves the received element out of its storage into `out`.
template <class T>
void deliver(storage_for<carried<T>>& storage, std::optional<T>& out) {
  struct guard {
    carried<T>* element;
    ~guard() { std::destroy_at(element); }
  } destroy{std::addressof(storage.element)};
  if constexpr (is_boxed<T>) {
    out.emplace(std::move(*storage.element));
  } else {
    out.emplace(std::move(storage.element));
  }
}

}  // namespace detail

// A handle: copies name the same channel.
template <class T>
class chan {
  static_assert(std::is_move_constructible_v<T>, "weft::chan: the element type must be movable");
  static_assert(std::is_object_v<T> && !std::is_const_v<T>, "weft::chan: the element type must be a plain object type");
  using carried = detail::carried<T>;

 public:
  using value_type = T;

  chan() : chan(0) {}
  // The name is shown in reports; it must live as long as the channel.
  explicit chan(std::size_t capacity, const char* name = nullptr)
      : core_(detail::make_chan(capacity, detail::element_traits<carried>::ops, name)) {}
  static chan nil() noexcept { return chan(nullptr, 0); }

  chan(const chan& other) noexcept : core_(other.core_) {
    if (core_ != nullptr) detail::retain_chan(core_);
  }
  chan(chan&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  chan& operator=(chan other) noexcept {
    std::swap(core_, other.core_);
    return *this;
  }
  ~chan() {
    if (core_ != nullptr) detail::release_chan(core_);
  }

  // Throws logic_error if the channel is closed.
  void send(T value) { send_carried(std::move(value), detail::forever); }
  // Closed and drained: nullopt.
  std::optional<T> recv() {
    std::optional<T> value;
    receive(value, detail::forever);
    return value;
  }
  // False: it would block, and value has not been moved from. Closed: throws, and it has not either.
  bool try_send(T& value) { return send_if_possible(value, 0); }
  bool try_send(T&& value) { return send_if_possible(value, 0); }
  recv_result<T> try_recv() { return receive_result(0); }

  template <class Rep, class Period>
  bool send_for(T& value, std::chrono::duration<Rep, Period> limit) {
    return send_if_possible(value, detail::deadline_in(limit));
  }
  template <class Rep, class Period>
  bool send_for(T&& value, std::chrono::duration<Rep, Period> limit) {
    return send_if_possible(value, detail::deadline_in(limit));
  }
  template <class Clock, class Duration>
  bool send_until(T& value, std::chrono::time_point<Clock, Duration> limit) {
    return detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) { return send_if_possible(value, deadline_ns); });
  }
  template <class Clock, class Duration>
  bool send_until(T&& value, std::chrono::time_point<Clock, Duration> limit) {
    return send_until(value, limit);
  }
  template <class Rep, class Period>
  recv_result<T> recv_for(std::chrono::duration<Rep, Period> limit) {
    return receive_result(detail::deadline_in(limit));
  }
  template <class Clock, class Duration>
  recv_result<T> recv_until(std::chrono::time_point<Clock, Duration> limit) {
    recv_result<T> result;
    detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) {
      receive_result(result, deadline_ns);
      return result.status != chan_status::empty;
    });
    return result;
  }

  void close() {
    if (core_ == nullptr) detail::throw_close_of_nil();
    if (!detail::close_chan(core_)) detail::throw_close_of_closed();
  }
  std::size_t size() const noexcept { return core_ != nullptr ? detail::chan_size(core_) : 0; }
  std::size_t capacity() const noexcept { return core_ != nullptr ? detail::chan_capacity(core_) : 0; }
  bool closed() const noexcept { return core_ != nullptr && detail::chan_closed(core_); }
  bool operator==(const chan& other) const noexcept { return core_ == other.core_; }
  explicit operator bool() const noexcept { return core_ != nullptr; }

  // for (auto& value : channel): until it is closed and drained. The loop keeps the channel it began with, whatever becomes of
  // the handle.
  class iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    iterator() = default;
    explicit iterator(chan channel) : channel_(std::move(channel)) { ++*this; }
    T& operator*() const { return *value_; }
    T* operator->() const { return std::addressof(*value_); }
    iterator& operator++() {
      value_.reset();
      std::optional<T> next = channel_.recv();
      if (next) value_.emplace(std::move(*next));
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !value_.has_value(); }

   private:
    chan channel_ = nil();
    mutable std::optional<T> value_;
  };
  using sentinel = std::default_sentinel_t;
  iterator begin() { return iterator(*this); }
  sentinel end() noexcept { return {}; }

  // For select and timers.
  detail::chan_core* core() const noexcept { return core_; }
  static chan adopt(detail::chan_core* core) noexcept { return chan(core, 0); }
  detail::chan_core* detach() noexcept { return std::exchange(core_, nullptr); }

 private:
  chan(detail::chan_core* core, int) noexcept : core_(core) {}

  void send_carried(T&& value, std::int64_t deadline_ns) {
    if constexpr (detail::is_boxed<T>) {
      auto box = std::make_unique<T>(std::move(value));
      if (detail::send_on(core_, &box, deadline_ns) == detail::chan_outcome::closed) detail::throw_send_on_closed();
    } else {
      if (detail::send_on(core_, std::addressof(value), deadline_ns) == detail::chan_outcome::closed)
        detail::throw_send_on_closed();
    }
  }

  bool send_if_possible(T& value, std::int64_t deadline_ns) {
    if constexpr (detail::is_boxed<T>) {
      detail::select_case one{core_, std::addressof(value), true, false, &detail::box_moved<T>};
      return detail::select_among(&one, 1, deadline_ns) != detail::no_case;
    } else {
      const detail::chan_outcome outcome = detail::send_on(core_, std::addressof(value), deadline_ns);
      if (outcome == detail::chan_outcome::closed) detail::throw_send_on_closed();
      return outcome == detail::chan_outcome::done;
    }
  }

  detail::chan_outcome receive(std::optional<T>& value, std::int64_t deadline_ns) {
    detail::storage_for<carried> storage;
    const detail::chan_outcome outcome = detail::receive_from(core_, &storage, deadline_ns);
    if (outcome == detail::chan_outcome::done) detail::deliver<T>(storage, value);
    return outcome;
  }

  recv_result<T> receive_result(std::int64_t deadline_ns) {
    recv_result<T> result;
    receive_result(result, deadline_ns);
    return result;
  }
  void receive_result(recv_result<T>& result, std::int64_t deadline_ns) {
    switch (receive(result.value, deadline_ns)) {
      case detail::chan_outcome::done:        result.status = chan_status::received; break;
      case detail::chan_outcome::would_block: result.status = chan_status::empty; break;
      case detail::chan_outcome::closed:      result.status = chan_status::closed; break;
    }
  }

  detail::chan_core* core_;
};

}  // namespace weft
