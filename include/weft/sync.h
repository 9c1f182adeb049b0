// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "weft/detail/clock.h"
#include "weft/detail/wait_queue.h"
#include "weft/go.h"

// Synchronisation for goroutines and plain threads alike.
namespace weft {

// Waits for a number of goroutines to finish.
class wait_group {
 public:
  wait_group() = default;
  wait_group(const wait_group&) = delete;

  void add(int n = 1);
  void done() { add(-1); }
  void wait() { wait_until_ns(detail::forever); }
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> limit) {
    return wait_until_ns(detail::deadline_in(limit));
  }
  bool wait_until(time_point limit) { return wait_until_ns(detail::deadline_at(limit)); }

  // add(); go(f); done() when f returns. If f throws, the process ends and no wait() returns.
  template <class F>
  void go(F&& f) {
    detail::refuse_empty(f);
    add(1);
    struct guard {
      wait_group* group;
      ~guard() {
        if (group != nullptr) group->done();
      }
    } undo{this};
    weft::go([this, f = std::decay_t<F>(std::forward<F>(f))]() mutable {
      struct done_at_end {  // also when this_goroutine::exit() unwinds
        wait_group* group;
        ~done_at_end() { group->done(); }
      } end{this};
      f();
    });
    undo.group = nullptr;
  }

 private:
  bool wait_until_ns(std::int64_t deadline_ns);
  std::atomic<std::uint64_t> state_{0};  // count in the high half, waiters in the low one
  detail::wait_queue queue_;
};

// Mutual exclusion; FIFO with barging, handed over to a waiter that has waited 1 ms. Any goroutine may unlock it.
class mutex {
 public:
  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;

  void lock() {
    std::uint32_t unlocked = 0;
    if (!state_.compare_exchange_strong(unlocked, kLocked, std::memory_order_acquire, std::memory_order_relaxed))
        [[unlikely]]  // pairs: mutex.state
      lock_slow(detail::forever);
  }
  bool try_lock() noexcept {
    std::uint32_t state = state_.load(std::memory_order_relaxed);
    return (state & (kLocked | kHandOver)) == 0 &&
           state_.compare_exchange_strong(state, state | kLocked, std::memory_order_acquire,
                                          std::memory_order_relaxed);  // pairs: mutex.state
  }
  void unlock() {
    std::uint32_t alone = kLocked;
    if (!state_.compare_exchange_strong(alone, 0, std::memory_order_release, std::memory_order_relaxed))
        [[unlikely]]  // pairs: mutex.state
      unlock_slow();
  }

 protected:
  bool lock_slow(std::int64_t deadline_ns);

 private:
  static constexpr std::uint32_t kLocked = 1, kHandOver = 2, kOneWaiter = 4;
  void unlock_slow();
  std::atomic<std::uint32_t> state_{0};
  detail::wait_queue queue_;
};

// A flag that goroutines and threads wait for; stays set until reset.
class event {
 public:
  constexpr event() noexcept = default;
  event(const event&) = delete;
  void set();
  void reset() noexcept;
  bool is_set() const noexcept { return set_.load(std::memory_order_acquire); }  // pairs: event.set
  void wait() { wait_until_ns(detail::forever); }
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> limit) {
    return wait_until_ns(detail::deadline_in(limit));
  }

 private:
  bool wait_until_ns(std::int64_t deadline_ns);
  std::atomic<bool> set_{false};
  detail::wait_queue queue_;
};

}  // namespace weft
