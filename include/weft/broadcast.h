// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "weft/context.h"
#include "weft/detail/change_bell.h"
#include "weft/detail/clock.h"
#include "weft/detail/deadline.h"
#include "weft/detail/happens_before.h"
#include "weft/detail/wait_queue.h"
#include "weft/select.h"

// Broadcast, as Tokio's: every receiver gets every value. For goroutines and plain threads.
namespace weft {

// The result of a receive; converts to true if it holds a value. Status empty: the time limit or the cancellation came
// first, or try_recv() found nothing. Status closed: all values have been received, and no more will come.
template <class T>
struct broadcast_result {
  chan_status status = chan_status::empty;
  std::uint64_t missed = 0;  // values lost right before this one, because this receiver was too slow
  std::shared_ptr<const T> value{};
  explicit operator bool() const noexcept { return status == chan_status::received; }
  const T& operator*() const noexcept { return *value; }
  const T* operator->() const noexcept { return value.get(); }
};

namespace detail {

[[noreturn]] void throw_send_on_closed_broadcast();

// The last values, and the receivers that wait for the next one (src/api/broadcast.cc).
class broadcast_core {
 public:
  broadcast_core(std::size_t capacity, const char* name);
  broadcast_core(const broadcast_core&) = delete;

  struct taken {
    chan_status status = chan_status::empty;
    std::uint64_t missed = 0;
    std::shared_ptr<const void> value{};
  };
  // Returns the number of receivers that get the value. Throws logic_error if closed.
  std::size_t send(std::shared_ptr<const void> value);
  void close();
  bool closed() const noexcept;
  std::uint64_t subscribe() noexcept;  // the position of the next value
  void unsubscribe(std::uint64_t next) noexcept;
  taken take(std::uint64_t& next, std::int64_t deadline_ns, const context* until);
  std::uint64_t waiting(std::uint64_t next) const noexcept;
  bool next_bell(std::uint64_t next, change_bell::bell& fresh) noexcept;  // false: a receive would not wait
  std::size_t receivers() const noexcept;
  std::size_t capacity() const noexcept { return slots_.size(); }
  const char* name() const noexcept { return queue_.name; }

 private:
  friend struct inspector;
  struct slot {
    std::shared_ptr<const void> value;
    std::size_t missing = 0;  // receivers that have not passed it yet; 0: the value is gone
  };
  slot& at(std::uint64_t position) noexcept { return slots_[position % slots_.size()]; }
  std::uint64_t oldest() const noexcept { return end_ > slots_.size() ? end_ - slots_.size() : 0; }
  bool take_now(std::uint64_t& next, taken& out) noexcept;

  mutable wait_queue queue_;  // its lock guards the rest
  std::vector<slot> slots_;   // the value of a position is at(position) until that of position + capacity is sent
  std::uint64_t end_ = 0;     // the position of the next value to be sent
  std::size_t receivers_ = 0;
  bool closed_ = false;
  change_bell bell_;
};

struct broadcast_senders {
  explicit broadcast_senders(std::shared_ptr<broadcast_core> of) noexcept : core(std::move(of)) {}
  ~broadcast_senders() { core->close(); }
  std::shared_ptr<broadcast_core> core;
};

}  // namespace detail

// Gets every value that is sent after the receiver was made, in order. If the receiver is too slow, the oldest values
// are dropped, and the next result counts them in `missed`. Move-only; used by one goroutine at a time.
template <class T>
class broadcast_receiver {
 public:
  using result = broadcast_result<T>;
  broadcast_receiver(broadcast_receiver&& other) noexcept = default;
  broadcast_receiver& operator=(broadcast_receiver&& other) noexcept {
    broadcast_receiver old(std::move(*this));
    core_ = std::move(other.core_);
    next_ = other.next_;
    bell_ = std::move(other.bell_);
    return *this;
  }
  ~broadcast_receiver() {
    if (core_ != nullptr) core_->unsubscribe(next_);
  }

  // Blocks until there is a value. The result is false if the broadcast is closed and all its values were received.
  result recv() { return take(detail::forever, nullptr); }
  // The same, until the context is cancelled.
  result recv(const context& until) { return take(detail::forever, &until); }
  // Never blocks.
  result try_recv() { return take(0, nullptr); }
  template <class Rep, class Period>
  result recv_for(std::chrono::duration<Rep, Period> limit) {
    return take(detail::deadline_in(limit), nullptr);
  }
  template <class Clock, class Duration>
  result recv_until(std::chrono::time_point<Clock, Duration> limit) {
    result got;
    detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) {
      got = take(deadline_ns, nullptr);
      return got.status != chan_status::empty;
    });
    return got;
  }

  // The number of values sent but not yet taken by this receiver, including those it has missed.
  std::size_t size() const noexcept { return static_cast<std::size_t>(core_->waiting(next_)); }
  bool closed() const noexcept { return core_->closed(); }
  // A new receiver, which gets the values that are sent from now on.
  [[nodiscard]] broadcast_receiver resubscribe() const { return broadcast_receiver(core_); }

  // For select: a channel that is closed as soon as recv() would not block. Ask for it again before each select.
  chan<std::monostate> ready() {
    return detail::ready_bell(
        bell_, core_->name(), [this] { return size() != 0 || closed(); },
        [this](auto& fresh) { return core_->next_bell(next_, fresh); });
  }

 private:
  template <class U>
  friend class broadcast;
  explicit broadcast_receiver(std::shared_ptr<detail::broadcast_core> core) noexcept
      : core_(std::move(core)), next_(core_->subscribe()) {}
  result take(std::int64_t deadline_ns, const context* until) {
    detail::broadcast_core::taken got = core_->take(next_, deadline_ns, until);
    return {got.status, got.missed, std::static_pointer_cast<const T>(std::move(got.value))};
  }
  std::shared_ptr<detail::broadcast_core> core_;  // null: moved from
  std::uint64_t next_;
  detail::change_bell::bell bell_ = detail::change_bell::bell::nil();
};

// The sending side. Copies of the handle name the same broadcast; when the last copy goes, the broadcast is closed.
// Sending never blocks: the last `capacity` values are kept for slow receivers, each until all receivers have got it.
// All receivers share one object, so T need not be copyable.
template <class T>
class broadcast {
 public:
  using receiver = broadcast_receiver<T>;

  // The name is shown in reports; it must live as long as the broadcast. Throws logic_error if the capacity is 0.
  explicit broadcast(std::size_t capacity, const char* name = nullptr)
      : senders_(std::make_shared<detail::broadcast_senders>(
            std::make_shared<detail::broadcast_core>(capacity, name))) {}

  [[nodiscard]] receiver subscribe() const { return receiver(senders_->core); }
  // Returns the number of receivers that get the value; without any, it is dropped. Throws logic_error if closed.
  std::size_t send(T value) const { return senders_->core->send(std::make_shared<const T>(std::move(value))); }
  void close() const { senders_->core->close(); }  // a second close does nothing
  bool closed() const noexcept { return senders_->core->closed(); }
  std::size_t receivers() const noexcept { return senders_->core->receivers(); }
  std::size_t capacity() const noexcept { return senders_->core->capacity(); }

 private:
  std::shared_ptr<detail::broadcast_senders> senders_;
};

// A case of a select. The handler is called with a broadcast_result<T>.
template <class T, class F = detail::no_handler>
[[nodiscard]] auto on_recv(broadcast_receiver<T>& receiver, F handler = {}) {
  return on_recv(receiver.ready(), [&receiver, handler = std::move(handler)](auto&&) mutable {
    std::invoke(handler, receiver.try_recv());
  });
}

}  // namespace weft
