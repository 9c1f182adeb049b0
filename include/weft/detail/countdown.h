// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "weft/detail/happens_before.h"
#include "weft/detail/wait_queue.h"

namespace weft::sched {
enum class WaitReason : std::uint8_t;
struct Waiter;
}  // namespace weft::sched

namespace weft::detail {

// A number, and the waiters for it to become zero: wait group, latch, event, future.
//   Memory   It may be destroyed as soon as an unlimited wait has returned. The thread that brings the number to zero
//            does so with its last access; if there are waiters, it wakes them after its last access.
class countdown {
 public:
  constexpr explicit countdown(std::uint64_t count, const char* name = nullptr) noexcept
      : state_(count * kOne), queue_(name) {}
  countdown(const countdown&) = delete;

  bool is_zero() const noexcept {
    const bool is_over = state_.load(unseen<std::memory_order_acquire>) < kOne;  // pairs: countdown.state
    if (is_over) order_acquire(&state_);
    return is_over;
  }
  // False: there would be more than `most`, and nothing has changed.
  bool add(std::uint64_t n, std::uint64_t most) noexcept;
  // False: there is less than n, and nothing has changed.
  bool subtract(std::uint64_t n) noexcept;
  void reset(std::uint64_t count) noexcept;  // only from zero; nothing happens otherwise
  bool wait(sched::WaitReason reason, const void* object, std::int64_t deadline_ns) noexcept;  // false: the time limit
  // For a select. False: the number is zero. Otherwise the waiter, which has a Choice, is queued until it is woken from
  // here or withdrawn.
  bool enlist(sched::Waiter& waiter) noexcept;
  void withdraw(sched::Waiter& waiter) noexcept;

 private:
  friend struct inspector;
  bool note_waiting() noexcept;                           // under the lock; false: it is zero
  void note_left() noexcept;                              // under the lock, when a waiter has gone
  static constexpr std::uint64_t kWaiting = 1, kOne = 2;  // kWaiting: set and cleared under the queue's lock
  std::atomic<std::uint64_t> state_;
  wait_queue queue_;
};

}  // namespace weft::detail
