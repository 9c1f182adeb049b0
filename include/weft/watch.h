// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include "weft/context.h"
#include "weft/detail/change_bell.h"
#include "weft/detail/clock.h"
#include "weft/detail/deadline.h"
#include "weft/detail/happens_before.h"
#include "weft/detail/wait_queue.h"
#include "weft/mutex.h"
#include "weft/select.h"

// Watch, as Tokio's: one latest value, and waiters for its next change. For goroutines and plain threads.
namespace weft {

enum class watch_status { changed, closed, timed_out, cancelled };

namespace detail {

[[noreturn]] void throw_send_on_closed_watch();

// The value, its version, and the waiters for another version (src/api/watch.cc).
class watch_core {
 public:
  watch_core(std::shared_ptr<const void> initial, const char* name) noexcept
      : value_(std::move(initial)), queue_(name) {}
  watch_core(const watch_core&) = delete;

  std::uint64_t version() const noexcept {
    order_acquire(&state_);
    return state_.load(std::memory_order_acquire) / kOne;  // pairs: watch.state
  }
  bool closed() const noexcept {
    const bool is_over = (state_.load(unseen<std::memory_order_acquire>) & kClosed) != 0;  // pairs: watch.state
    if (is_over) order_acquire(&state_);
    return is_over;
  }
  const char* name() const noexcept { return queue_.name; }
  std::shared_ptr<const void> value(std::uint64_t* version = nullptr) const noexcept;
  bool publish(std::shared_ptr<const void> next);  // false: closed, and nothing has changed
  void close();
  // Blocks until there is another version than `seen`, which then becomes that version.
  watch_status wait(std::uint64_t& seen, std::int64_t deadline_ns, const context* until);
  bool next_bell(std::uint64_t seen, change_bell::bell& fresh) noexcept;  // false: changed() would not wait

 private:
  friend struct inspector;
  static constexpr std::uint64_t kClosed = 1, kOne = 2;
  void change(std::uint64_t by, std::shared_ptr<const void>* next, bool& was_closed);
  bool is_news(std::uint64_t seen) const noexcept;

  std::atomic<std::uint64_t> state_{0};  // twice the version, plus kClosed; changed under the queue's lock
  std::shared_ptr<const void> value_;    // under the queue's lock
  change_bell bell_;                     // likewise
  mutable wait_queue queue_;
};

// What the senders share. The watch is closed when the last sender goes.
struct watch_senders {
  explicit watch_senders(std::shared_ptr<watch_core> of) noexcept : core(std::move(of)) {}
  ~watch_senders() { core->close(); }
  std::shared_ptr<watch_core> core;
  mutex order;  // of changes, because modify() reads and writes
};

}  // namespace detail

// Sees the latest value, never a queue of values. Used by one goroutine at a time; copies are receivers of their own.
template <class T>
class watch_receiver {
 public:
  // The latest value. The object does not change, however long it is kept: a sender puts another in its place.
  std::shared_ptr<const T> borrow() const noexcept { return std::static_pointer_cast<const T>(core_->value()); }
  std::shared_ptr<const T> borrow_and_update() noexcept {  // and it counts as seen
    return std::static_pointer_cast<const T>(core_->value(&seen_));
  }
  T get() const { return *borrow(); }
  bool has_changed() const noexcept { return core_->version() != seen_; }
  bool closed() const noexcept { return core_->closed(); }

  // Blocks until there is a value that this receiver has not seen; then it counts as seen. False: closed, and nothing
  // new.
  bool changed() { return core_->wait(seen_, detail::forever, nullptr) == watch_status::changed; }
  watch_status changed(const context& until) { return core_->wait(seen_, detail::forever, &until); }
  template <class Rep, class Period>
  watch_status changed_for(std::chrono::duration<Rep, Period> limit) {
    return core_->wait(seen_, detail::deadline_in(limit), nullptr);
  }
  template <class Clock, class Duration>
  watch_status changed_until(std::chrono::time_point<Clock, Duration> limit) {
    watch_status status = watch_status::timed_out;
    detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) {
      status = core_->wait(seen_, deadline_ns, nullptr);
      return status != watch_status::timed_out;
    });
    return status;
  }
  // Blocks until predicate(value) holds for the latest value, beginning with the present one. Null: closed before that.
  template <class Predicate>
  std::shared_ptr<const T> wait(Predicate predicate) {
    do {
      std::shared_ptr<const T> value = borrow_and_update();
      if (std::invoke(predicate, *value)) return value;
    } while (changed());
    return nullptr;
  }

  // For select: a channel that is closed as soon as changed() would not block. Ask for it again before each select.
  chan<std::monostate> ready() {
    return detail::ready_bell(
        bell_, core_->name(), [this] { return has_changed() || closed(); },
        [this](auto& fresh) { return core_->next_bell(seen_, fresh); });
  }

 private:
  template <class U>
  friend class watch;
  explicit watch_receiver(std::shared_ptr<detail::watch_core> core) noexcept
      : core_(std::move(core)), seen_(core_->version()) {}
  std::shared_ptr<detail::watch_core> core_;
  std::uint64_t seen_;
  detail::change_bell::bell bell_ = detail::change_bell::bell::nil();
};

// The sending side. Copies of the handle name the same watch; when the last copy goes, the watch is closed. All readers
// of a value share it, so only get() and modify() need a copyable T.
template <class T>
class watch {
 public:
  using receiver = watch_receiver<T>;

  // The name is shown in reports; it must live as long as the watch.
  explicit watch(T initial, const char* name = nullptr)
      : senders_(std::make_shared<detail::watch_senders>(
            std::make_shared<detail::watch_core>(std::make_shared<const T>(std::move(initial)), name))) {}

  // The receiver has seen the present value: changed() waits for the next one.
  [[nodiscard]] receiver subscribe() const noexcept { return receiver(senders_->core); }

  // Replaces the value and wakes all waiting receivers. Throws logic_error if closed.
  void send(T value) const {
    auto next = std::make_shared<const T>(std::move(value));
    const std::lock_guard guard(senders_->order);
    if (!senders_->core->publish(std::move(next))) detail::throw_send_on_closed_watch();
  }
  // f(T&) changes a copy of the value, which then becomes the value; other senders wait meanwhile. If f returns false,
  // or throws, nothing changes. True: the value was changed. Throws logic_error if closed.
  template <class F>
  bool modify(F&& f) const {
    const std::lock_guard guard(senders_->order);
    auto next = std::make_shared<T>(*borrow());
    if constexpr (std::is_void_v<std::invoke_result_t<F&, T&>>) {
      std::invoke(f, *next);
    } else {
      if (!std::invoke(f, *next)) return false;
    }
    if (!senders_->core->publish(std::move(next))) detail::throw_send_on_closed_watch();
    return true;
  }
  std::shared_ptr<const T> borrow() const noexcept {
    return std::static_pointer_cast<const T>(senders_->core->value());
  }
  T get() const { return *borrow(); }
  void close() const { senders_->core->close(); }  // a second close does nothing
  bool closed() const noexcept { return senders_->core->closed(); }

 private:
  std::shared_ptr<detail::watch_senders> senders_;
};

// A case of a select. The handler is called with the new value (a std::shared_ptr<const T>), which counts as seen;
// null: closed.
template <class T, class F = detail::no_handler>
[[nodiscard]] auto on_changed(watch_receiver<T>& receiver, F handler = {}) {
  return on_recv(receiver.ready(), [&receiver, handler = std::move(handler)](auto&&) mutable {
    const bool is_new = receiver.has_changed();
    std::invoke(handler, is_new ? receiver.borrow_and_update() : nullptr);
  });
}

}  // namespace weft
