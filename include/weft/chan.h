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
#include "weft/detail/chan_handle.h"
#include "weft/detail/clock.h"
#include "weft/detail/deadline.h"
#include "weft/error.h"

// Channels with Go's semantics, for goroutines and plain threads.
//   Send     Blocks until a receiver takes the value or the buffer has room. Throws logic_error if the channel is
//            closed.
//   Receive  Blocks until there is a value, or until the channel is closed and drained.
//   Nil      A handle without a channel. Send and receive block for ever; close() throws logic_error.
namespace weft {

enum class chan_status { received, empty, closed };

template <class T>
struct recv_result {
  chan_status status = chan_status::empty;
  std::optional<T> value;
  explicit operator bool() const noexcept { return status == chan_status::received; }
};

namespace detail {

// What a channel of T really carries. A T whose move may throw travels in a box (a unique_ptr), so that an exception
// reaches only the caller whose move threw. send() boxes the value before anything is shared. An operation that may
// leave the value with its sender boxes it when its turn has come (box_moved, box_copied).
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

// The sending side of a handle. Its members are const because they change the channel and not the handle, as with
// pointers.
template <class T, class Handle>
class send_side {
 public:
  // Blocks until a receiver takes the value or the buffer has room. Throws logic_error if the channel is closed.
  void send(T value) const {
    if constexpr (is_boxed<T>) {
      auto box = std::make_unique<T>(std::move(value));
      if (send_on(channel(), &box, forever) == chan_outcome::closed) throw_send_on_closed();
    } else {
      if (send_on(channel(), std::addressof(value), forever) == chan_outcome::closed) throw_send_on_closed();
    }
  }
  // Never blocks. False: it would have blocked, and the value has not been moved from. Throws logic_error if the
  // channel is closed; the value has not been moved from then either.
  bool try_send(T& value) const { return send_if_possible(value, 0); }
  bool try_send(T&& value) const { return send_if_possible(value, 0); }

  // As try_send, but blocks until the time limit.
  template <class Rep, class Period>
  bool send_for(T& value, std::chrono::duration<Rep, Period> limit) const {
    return send_if_possible(value, deadline_in(limit));
  }
  template <class Rep, class Period>
  bool send_for(T&& value, std::chrono::duration<Rep, Period> limit) const {
    return send_if_possible(value, deadline_in(limit));
  }
  template <class Clock, class Duration>
  bool send_until(T& value, std::chrono::time_point<Clock, Duration> limit) const {
    return wait_by_clock(limit, [&](std::int64_t deadline_ns) { return send_if_possible(value, deadline_ns); });
  }
  template <class Clock, class Duration>
  bool send_until(T&& value, std::chrono::time_point<Clock, Duration> limit) const {
    return send_until(value, limit);
  }

  // Receivers still get what is in the buffer, then nullopt; blocked senders throw logic_error. Throws logic_error if
  // the channel is already closed, or nil.
  void close() const {
    if (channel() == nullptr) throw_close_of_nil();
    if (!close_chan(channel())) throw_close_of_closed();
  }

 private:
  chan_core* channel() const noexcept { return static_cast<const Handle*>(this)->core(); }

  bool send_if_possible(T& value, std::int64_t deadline_ns) const {
    if constexpr (is_boxed<T>) {
      select_case one{channel(), std::addressof(value), true, false, case_source::channel, &box_moved<T>};
      return select_among(&one, 1, deadline_ns) != no_case;
    } else {
      const chan_outcome outcome = send_on(channel(), std::addressof(value), deadline_ns);
      if (outcome == chan_outcome::closed) throw_send_on_closed();
      return outcome == chan_outcome::done;
    }
  }
};

template <class T>
class chan_iterator;

// The receiving side of a handle.
template <class T, class Handle>
class receive_side {
 public:
  // Blocks until there is a value. Nullopt: the channel is closed and drained.
  std::optional<T> recv() const {
    std::optional<T> value;
    receive(value, forever);
    return value;
  }
  // Never blocks. Status empty: there was no value.
  recv_result<T> try_recv() const { return receive_result(0); }
  // As try_recv, but blocks until the time limit.
  template <class Rep, class Period>
  recv_result<T> recv_for(std::chrono::duration<Rep, Period> limit) const {
    return receive_result(deadline_in(limit));
  }
  template <class Clock, class Duration>
  recv_result<T> recv_until(std::chrono::time_point<Clock, Duration> limit) const {
    recv_result<T> result;
    wait_by_clock(limit, [&](std::int64_t deadline_ns) {
      receive_result(result, deadline_ns);
      return result.status != chan_status::empty;
    });
    return result;
  }

  // for (auto& value : channel) receives until the channel is closed and drained. The loop keeps the channel it began
  // with, whatever happens to the handle.
  using iterator = chan_iterator<T>;
  using sentinel = std::default_sentinel_t;
  iterator begin() const { return iterator(static_cast<const Handle&>(*this)); }
  sentinel end() const noexcept { return {}; }

 private:
  chan_outcome receive(std::optional<T>& value, std::int64_t deadline_ns) const {
    storage_for<carried<T>> storage;
    const chan_outcome outcome = receive_from(static_cast<const Handle*>(this)->core(), &storage, deadline_ns);
    if (outcome == chan_outcome::done) deliver<T>(storage, value);
    return outcome;
  }

  recv_result<T> receive_result(std::int64_t deadline_ns) const {
    recv_result<T> result;
    receive_result(result, deadline_ns);
    return result;
  }
  void receive_result(recv_result<T>& result, std::int64_t deadline_ns) const {
    switch (receive(result.value, deadline_ns)) {
      case chan_outcome::done:        result.status = chan_status::received; break;
      case chan_outcome::would_block: result.status = chan_status::empty; break;
      case chan_outcome::closed:      result.status = chan_status::closed; break;
    }
  }
};

}  // namespace detail

template <class T>
class chan;

// chan<T>::sender: a handle that only sends and closes, as Go's chan<- T. Any chan<T> converts to it, but not back.
template <class T>
class chan_sender : public detail::chan_handle, public detail::send_side<T, chan_sender<T>> {
 public:
  using value_type = T;
  chan_sender() noexcept : chan_handle(nullptr) {}  // nil
  chan_sender(const chan<T>& channel) noexcept : chan_handle(channel) {}
  chan_sender(chan<T>&& channel) noexcept : chan_handle(std::move(channel)) {}
  static chan_sender nil() noexcept { return {}; }
  friend bool operator==(const chan_sender& one, const chan_sender& other) noexcept {
    return one.core() == other.core();
  }
};

// chan<T>::receiver: a handle that only receives, as Go's <-chan T.
template <class T>
class chan_receiver : public detail::chan_handle, public detail::receive_side<T, chan_receiver<T>> {
 public:
  using value_type = T;
  chan_receiver() noexcept : chan_handle(nullptr) {}  // nil
  chan_receiver(const chan<T>& channel) noexcept : chan_handle(channel) {}
  chan_receiver(chan<T>&& channel) noexcept : chan_handle(std::move(channel)) {}
  static chan_receiver nil() noexcept { return {}; }
  friend bool operator==(const chan_receiver& one, const chan_receiver& other) noexcept {
    return one.core() == other.core();
  }
};

// A channel of T. It is a handle: copies name the same channel. Its other members stand in detail::chan_handle (size,
// capacity, closed), and in send_side and receive_side above.
template <class T>
class chan : public detail::chan_handle, public detail::send_side<T, chan<T>>, public detail::receive_side<T, chan<T>> {
  static_assert(std::is_move_constructible_v<T>, "weft::chan: the element type must be movable");
  static_assert(std::is_object_v<T> && !std::is_const_v<T>, "weft::chan: the element type must be a plain object type");

 public:
  using value_type = T;
  using sender = chan_sender<T>;
  using receiver = chan_receiver<T>;

  // Unbuffered: a send blocks until its receiver has come.
  chan() : chan(0) {}
  // A buffer for `capacity` values; 0: unbuffered. The name is shown in reports; it must live as long as the channel.
  // Throws std::length_error or std::bad_alloc if the buffer is too large.
  explicit chan(std::size_t capacity, const char* name = nullptr)
      : chan_handle(detail::make_chan(capacity, detail::element_traits<detail::carried<T>>::ops, name)) {}
  static chan nil() noexcept { return adopt(nullptr); }
  bool operator==(const chan& other) const noexcept { return core() == other.core(); }

  // For timers.
  static chan adopt(detail::chan_core* core) noexcept { return chan(core, 0); }

 private:
  chan(detail::chan_core* core, int) noexcept : chan_handle(core) {}
};

namespace detail {

template <class T>
class chan_iterator {
 public:
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::input_iterator_tag;
  chan_iterator() = default;
  explicit chan_iterator(chan_receiver<T> channel) : channel_(std::move(channel)) { ++*this; }
  T& operator*() const { return *value_; }
  T* operator->() const { return std::addressof(*value_); }
  chan_iterator& operator++() {
    value_.reset();
    std::optional<T> next = channel_.recv();
    if (next) value_.emplace(std::move(*next));
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return !value_.has_value(); }

 private:
  chan_receiver<T> channel_;
  mutable std::optional<T> value_;
};

}  // namespace detail

}  // namespace weft
