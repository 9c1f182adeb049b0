// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "weft/detail/clock.h"
#include "weft/detail/deadline.h"
#include "weft/detail/wait_queue.h"
#include "weft/mutex.h"

namespace weft {

namespace detail {

// The lock that a wait releases and takes again.
struct lock_operations {
  void* lock;
  void (*release)(void* lock);
  void (*reacquire)(void* lock);

  template <class Lock>
  static lock_operations of(Lock& lock) noexcept {
    return {std::addressof(lock), [](void* object) { static_cast<Lock*>(object)->unlock(); },
            [](void* object) { static_cast<Lock*>(object)->lock(); }};
  }
};

// FIFO: a notification goes to the longest waiter. May be destroyed as soon as all waiters have been notified.
class condition_core {
 public:
  constexpr condition_core() noexcept = default;
  constexpr explicit condition_core(const char* name) noexcept : queue_(name) {}
  condition_core(const condition_core&) = delete;
  ~condition_core();

  void notify_one() noexcept { notify_if_any(1); }
  void notify_all() noexcept { notify_if_any(kAll); }

 protected:
  static constexpr std::uint64_t kAll = UINT64_MAX;
  void notify(std::uint64_t most) noexcept;
  bool wait_ns(lock_operations lock, std::int64_t deadline_ns);  // false: the time limit

 private:
  friend struct inspector;
  void notify_if_any(std::uint64_t most) noexcept;
  wait_queue queue_;
};

template <class Lock>
concept basic_lockable = requires(Lock& lock) {
  lock.lock();
  lock.unlock();
};
}  // namespace detail

// As std::condition_variable_any: works with every type that has lock() and unlock(), which may park.
class condition_variable_any : public detail::condition_core {
 public:
  constexpr condition_variable_any() noexcept = default;
  constexpr explicit condition_variable_any(const char* name) noexcept : condition_core(name) {}

  template <detail::basic_lockable Lock>
  void wait(Lock& lock) {
    wait_ns(detail::lock_operations::of(lock), detail::forever);
  }
  template <detail::basic_lockable Lock, std::predicate Predicate>
  void wait(Lock& lock, Predicate predicate) {
    while (!predicate()) wait(lock);
  }
  template <detail::basic_lockable Lock, class Clock, class Duration>
  std::cv_status wait_until(Lock& lock, std::chrono::time_point<Clock, Duration> limit) {
    return wait_by_clock(lock, limit);
  }
  template <detail::basic_lockable Lock, class Clock, class Duration, std::predicate Predicate>
  bool wait_until(Lock& lock, std::chrono::time_point<Clock, Duration> limit, Predicate predicate) {
    while (!predicate())
      if (wait_by_clock(lock, limit) == std::cv_status::timeout) return predicate();
    return true;
  }
  template <detail::basic_lockable Lock, class Rep, class Period>
  std::cv_status wait_for(Lock& lock, std::chrono::duration<Rep, Period> limit) {
    return wait_with_limit(lock, detail::deadline_in(limit));
  }
  template <detail::basic_lockable Lock, class Rep, class Period, std::predicate Predicate>
  bool wait_for(Lock& lock, std::chrono::duration<Rep, Period> limit, Predicate predicate) {
    return wait_with_limit(lock, detail::deadline_in(limit), predicate);
  }

  // With a stop token: a stop request ends the wait, too. Returns what the predicate says.
  template <detail::basic_lockable Lock, std::predicate Predicate>
  bool wait(Lock& lock, std::stop_token token, Predicate predicate) {
    return wait_with_token(lock, std::move(token), predicate,
                           [&](auto& held) { return wait_with_limit(held, detail::forever); });
  }
  template <detail::basic_lockable Lock, class Clock, class Duration, std::predicate Predicate>
  bool wait_until(Lock& lock, std::stop_token token, std::chrono::time_point<Clock, Duration> limit,
                  Predicate predicate) {
    return wait_with_token(lock, std::move(token), predicate,
                           [&](auto& held) { return wait_by_clock(held, limit); });
  }
  template <detail::basic_lockable Lock, class Rep, class Period, std::predicate Predicate>
  bool wait_for(Lock& lock, std::stop_token token, std::chrono::duration<Rep, Period> limit, Predicate predicate) {
    const std::int64_t deadline_ns = detail::deadline_in(limit);
    return wait_with_token(lock, std::move(token), predicate,
                           [&](auto& held) { return wait_with_limit(held, deadline_ns); });
  }

 private:
  template <class Lock>
  std::cv_status wait_with_limit(Lock& lock, std::int64_t deadline_ns) {
    return wait_ns(detail::lock_operations::of(lock), deadline_ns) ? std::cv_status::no_timeout
                                                                   : std::cv_status::timeout;
  }
  template <class Lock, class Predicate>
  bool wait_with_limit(Lock& lock, std::int64_t deadline_ns, Predicate& predicate) {
    while (!predicate())
      if (wait_with_limit(lock, deadline_ns) == std::cv_status::timeout) return predicate();
    return true;
  }
  // Waits only once, because a notification between two waits would be lost. If the time limit has passed on the steady
  // clock but not yet on the given clock, this returns as from a spurious wake-up, as std's does.
  template <class Lock, class Clock, class Duration>
  std::cv_status wait_by_clock(Lock& lock, std::chrono::time_point<Clock, Duration> limit) {
    const std::cv_status status = wait_with_limit(lock, detail::deadline_of(limit));
    if constexpr (!std::is_same_v<Clock, std::chrono::steady_clock>)
      if (status == std::cv_status::timeout && !detail::has_come(limit)) return std::cv_status::no_timeout;
    return status;
  }
  // A stop requested before the waiter was queued has notified no waiter. So unlock(), which runs after the queueing,
  // asks the token again.
  template <class Lock>
  struct stoppable {
    void lock() { inner.lock(); }
    void unlock() {
      inner.unlock();
      if (token.stop_requested()) condition.notify_all();
    }
    Lock& inner;
    std::stop_token& token;
    condition_core& condition;
  };
  template <class Lock, class Predicate, class WaitOnce>
  bool wait_with_token(Lock& lock, std::stop_token token, Predicate& predicate, WaitOnce wait_once) {
    // notify(), not notify_all(): the callback runs without the user's lock, so it must look into the queue.
    const std::stop_callback on_stop(token, [this] { notify(kAll); });
    stoppable<Lock> wrapped{lock, token, *this};
    while (!predicate()) {
      if (token.stop_requested()) return false;
      if (wait_once(wrapped) == std::cv_status::timeout) return predicate();
    }
    return true;
  }
};

// As std::condition_variable, with std::unique_lock<weft::mutex>.
class condition_variable : private condition_variable_any {
  using lock_type = std::unique_lock<mutex>;

 public:
  constexpr condition_variable() noexcept = default;
  constexpr explicit condition_variable(const char* name) noexcept : condition_variable_any(name) {}

  using condition_core::notify_all;
  using condition_core::notify_one;

  void wait(lock_type& lock) { condition_variable_any::wait(lock); }
  template <std::predicate Predicate>
  void wait(lock_type& lock, Predicate predicate) {
    condition_variable_any::wait(lock, std::move(predicate));
  }
  template <class Limit, class... Predicate>
  auto wait_until(lock_type& lock, Limit limit, Predicate... predicate) {
    return condition_variable_any::wait_until(lock, limit, std::move(predicate)...);
  }
  template <class Limit, class... Predicate>
  auto wait_for(lock_type& lock, Limit limit, Predicate... predicate) {
    return condition_variable_any::wait_for(lock, limit, std::move(predicate)...);
  }
};

}  // namespace weft
