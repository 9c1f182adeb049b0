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
namespace sched {
class WaitList;
}

// Many readers or one writer, in order of arrival: new readers queue behind a waiting writer. Any goroutine may unlock
// it. Unlocking an unlocked shared_mutex ends the process.
class shared_mutex {
 public:
  constexpr shared_mutex() noexcept = default;
  constexpr explicit shared_mutex(const char* name) noexcept : queue_(name) {}
  shared_mutex(const shared_mutex&) = delete;

  void lock() {
    if (!try_lock()) [[unlikely]]
      lock_slow(detail::forever);
  }
  bool try_lock() noexcept {
    detail::switch_point();
    const std::uint32_t who = detail::self_hint();
    std::uint64_t free = 0;
    if (!state_.compare_exchange_strong(free, kWriter,
                                        detail::unseen<std::memory_order_acquire>,  // pairs: shared_mutex.state
                                        std::memory_order_relaxed))
      return false;
    follow_all();
    holder_.note(who);
    return true;
  }
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> limit) {
    return try_lock() || lock_slow(detail::deadline_in(limit));
  }
  template <class Clock, class Duration>
  bool try_lock_until(std::chrono::time_point<Clock, Duration> limit) {
    return try_lock() ||
           detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) { return lock_slow(deadline_ns); });
  }
  void unlock() {
    std::uint64_t alone = kWriter;
    detail::order_release(&state_);
    if (!state_.compare_exchange_strong(alone, 0,
                                        detail::unseen<std::memory_order_release>,  // pairs: shared_mutex.state
                                        std::memory_order_relaxed)) [[unlikely]]
      unlock_slow();
  }

  void lock_shared() {
    if (!try_lock_shared()) [[unlikely]]
      lock_shared_slow(detail::forever);
  }
  bool try_lock_shared() noexcept {
    detail::switch_point();
    std::uint64_t state = state_.load(std::memory_order_relaxed);
    while ((state & (kWriter | kWaiting)) == 0) {
      if (state_.compare_exchange_weak(state, state + kReader,
                                       detail::unseen<std::memory_order_acquire>,  // pairs: shared_mutex.state
                                       std::memory_order_relaxed)) {
        detail::order_acquire(&state_);
        detail::note_read(this);
        return true;
      }
    }
    return false;
  }
  template <class Rep, class Period>
  bool try_lock_shared_for(std::chrono::duration<Rep, Period> limit) {
    return try_lock_shared() || lock_shared_slow(detail::deadline_in(limit));
  }
  template <class Clock, class Duration>
  bool try_lock_shared_until(std::chrono::time_point<Clock, Duration> limit) {
    return try_lock_shared() ||
           detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) { return lock_shared_slow(deadline_ns); });
  }
  void unlock_shared() {
    detail::order_release(&queue_);
    std::uint64_t state = state_.load(std::memory_order_relaxed);
    while (state >= kReader && ((state & kWaiting) == 0 || state >= 2 * kReader)) {
      if (state_.compare_exchange_weak(state, state - kReader,
                                       detail::unseen<std::memory_order_acq_rel>,  // pairs: shared_mutex.state
                                       std::memory_order_relaxed)) {
        detail::forget_read(this);  // the note is in the goroutine, because the mutex may be gone
        return;
      }
    }
    unlock_shared_slow();
  }

 private:
  friend struct detail::inspector;
  // kWaiting: waiters are queued, so no newcomer gets in. Set and cleared under the queue's lock.
  static constexpr std::uint64_t kWriter = 1, kWaiting = 2, kReader = 4;
  bool lock_slow(std::int64_t deadline_ns) noexcept;
  bool lock_shared_slow(std::int64_t deadline_ns) noexcept;
  bool wait_for_turn(std::uint64_t mine, std::uint64_t in_the_way, std::int64_t deadline_ns) noexcept;
  void unlock_slow();
  void unlock_shared_slow();
  void leave_waiting(std::uint64_t mine);
  void note(const sched::WaitList& admitted) noexcept;
  // For TSan: a writer's token is state_. The readers' token is queue_, which only writers acquire, because readers are
  // in no order among each other.
  void follow_all() const noexcept {
    detail::order_acquire(&state_);
    detail::order_acquire(&queue_);
  }

  std::atomic<std::uint64_t> state_{0};
  detail::wait_queue queue_;
  detail::holder_hint holder_;  // the writer
};
using shared_timed_mutex = shared_mutex;

}  // namespace weft
