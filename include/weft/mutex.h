// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

#include "weft/detail/clock.h"
#include "weft/detail/deadline.h"
#include "weft/detail/happens_before.h"
#include "weft/detail/holder_hint.h"
#include "weft/detail/wait_queue.h"

namespace weft {

// Mutual exclusion. Waiters queue in FIFO order, but newcomers may take a free mutex before them (barging). A waiter
// that has waited for more than 1 ms gets the lock handed over. Any goroutine may unlock it. Unlocking an unlocked
// mutex ends the process.
// The name, here and below, is shown in reports; it must live as long as the object.
class mutex {
 public:
  constexpr mutex() noexcept = default;
  constexpr explicit mutex(const char* name) noexcept : queue_(name) {}
  mutex(const mutex&) = delete;

  void lock() {
    std::uint32_t unlocked;
    const std::uint32_t who = detail::begin_lock(unlocked);
    if (!state_.compare_exchange_strong(unlocked, kLocked, std::memory_order_acquire, std::memory_order_relaxed))
        [[unlikely]] {  // pairs: mutex.state
      lock_slow(detail::forever);
      return;
    }
    detail::order_acquire(&state_);
    holder_.note(who);
  }
  bool try_lock() noexcept {
    detail::switch_point();
    return try_lock_now();
  }
  void unlock() {
    detail::order_release(&state_);
    if (state_.fetch_sub(kLocked, std::memory_order_release) != kLocked) [[unlikely]]  // pairs: mutex.state
      unlock_slow();
  }

 protected:
  bool lock_slow(std::int64_t deadline_ns);

 private:
  friend struct detail::inspector;
  friend class recursive_mutex;  // reports about it use the name of its mutex
  // kLocked is the highest bit, so unlocking an unlocked mutex leaves bits above it.
  static constexpr std::uint32_t kWaiting = 1, kHandOver = 2, kOpen = 4, kLeaving = 8, kLocked = 16;
  static bool is_free(std::uint32_t state) noexcept { return state == 0 || (state & kOpen) != 0; }
  bool try_lock_now() noexcept {
    const std::uint32_t who = detail::self_hint();
    std::uint32_t state = state_.load(std::memory_order_relaxed);
    if (!is_free(state) || !state_.compare_exchange_strong(state, (state & ~kOpen) | kLocked, std::memory_order_acquire,
                                                           std::memory_order_relaxed))  // pairs: mutex.state
      return false;
    detail::order_acquire(&state_);
    holder_.note(who);
    return true;
  }
  void unlock_slow();
  std::atomic<std::uint32_t> state_{0};
  detail::holder_hint holder_;
  detail::wait_queue queue_;
};

// A mutex that can be waited for with a time limit.
class timed_mutex : public mutex {
 public:
  constexpr timed_mutex() noexcept = default;
  constexpr explicit timed_mutex(const char* name) noexcept : mutex(name) {}

  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> limit) {
    return try_lock() || (limit > limit.zero() && lock_slow(detail::deadline_in(limit)));
  }
  template <class Clock, class Duration>
  bool try_lock_until(std::chrono::time_point<Clock, Duration> limit) {
    return try_lock() ||
           (!detail::has_come(limit) &&
            detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) { return lock_slow(deadline_ns); }));
  }
};

// May be locked again by the goroutine (or plain thread) that holds it. Only the holder may unlock it: any other unlock
// ends the process.
class recursive_mutex {
 public:
  constexpr recursive_mutex() noexcept = default;
  constexpr explicit recursive_mutex(const char* name) noexcept : mutex_(name) {}
  recursive_mutex(const recursive_mutex&) = delete;

  void lock() {
    if (!enter_again()) {
      mutex_.lock();
      enter();
    }
  }
  bool try_lock() { return enter_again() || (mutex_.try_lock() && enter()); }
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> limit) {
    return enter_again() || (mutex_.try_lock_for(limit) && enter());
  }
  template <class Clock, class Duration>
  bool try_lock_until(std::chrono::time_point<Clock, Duration> limit) {
    return enter_again() || (mutex_.try_lock_until(limit) && enter());
  }
  void unlock();

 private:
  bool enter_again();  // true: the caller holds it already
  bool enter() noexcept;

  timed_mutex mutex_;
  std::atomic<std::uint64_t> owner_{0};  // 0: not locked
  std::uint32_t depth_ = 0;              // the owner's
};
using recursive_timed_mutex = recursive_mutex;

}  // namespace weft
