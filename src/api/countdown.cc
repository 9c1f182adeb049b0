// SPDX-License-Identifier: MIT
#include "weft/detail/countdown.h"

#include "sched/state/control.h"
#include "sched/wait/wait_queue.h"

// Countdown.
//   State       Twice the count, plus kWaiting while waiters are queued.
//   Zero        Without kWaiting: one CAS, which is the last access. With kWaiting: under the lock, together with
//               taking all waiters. A waiter queues only after it has set kWaiting, under the lock, on a count that is
//               not zero.
//   Misuse      Is seen before anything changes, so no waiter sees a number that was never meant.
//   Select      Queues a waiter whose Choice others may fire, too (enlist). A thread that drops such a waiter has
//               looked at its Choice under the lock. So withdraw() takes the lock even for a waiter that is gone from
//               the list.
//   Model       tests/model/api/countdown_test.cc and select_event_test.cc explore this file.
namespace weft::detail {

bool countdown::add(std::uint64_t n, std::uint64_t most) noexcept {
  sched::point();
  std::uint64_t state = state_.load(std::memory_order_relaxed);
  do {
    if (n > most || most - n < state / kOne) return false;
  } while (!state_.compare_exchange_weak(state, state + n * kOne, std::memory_order_acq_rel,  // pairs: countdown.state
                                         std::memory_order_relaxed));
  return true;
}

bool countdown::subtract(std::uint64_t n) noexcept {
  sched::point();
  sched::WaitQueue& queue = sched::open(queue_);
  order_release(&state_);
  std::uint64_t state = state_.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t count = state / kOne;
    if (count < n) return false;
    if (count > n || (state & kWaiting) == 0) {
      if (state_.compare_exchange_weak(state, state - n * kOne, std::memory_order_acq_rel,  // pairs: countdown.state
                                       std::memory_order_relaxed))
        return true;
      continue;
    }
    queue.lock.lock();
    if (state_.compare_exchange_strong(state, 0, std::memory_order_acq_rel,  // pairs: countdown.state
                                       std::memory_order_relaxed)) {
      sched::WaitList released;
      take_all(queue.list, released);
      queue.lock.unlock();
      wake_all(released);
      return true;
    }
    queue.lock.unlock();
  }
}

void countdown::reset(std::uint64_t count) noexcept {
  std::uint64_t zero = 0;
  state_.compare_exchange_strong(zero, count * kOne, std::memory_order_acq_rel);  // pairs: countdown.state
}

bool countdown::note_waiting() noexcept {
  std::uint64_t state = state_.load(std::memory_order_acquire);  // pairs: countdown.state
  do {
    if (state < kOne) return false;
  } while (
      !state_.compare_exchange_weak(state, state | kWaiting, std::memory_order_acq_rel));  // pairs: countdown.state
  return true;
}

void countdown::note_left() noexcept {
  if (!sched::open(queue_).list.empty()) return;
  state_.fetch_and(~kWaiting, std::memory_order_acq_rel);  // pairs: countdown.state
}

bool countdown::enlist(sched::Waiter& waiter) noexcept {
  sched::WaitQueue& queue = sched::open(queue_);
  queue.lock.lock();
  const bool waits = note_waiting();
  if (waits) queue.list.push(waiter);
  queue.lock.unlock();
  return waits;
}

// Takes the lock even if the waiter is not queued any more, because the thread that dropped it held the lock until it
// had looked at its Choice.
void countdown::withdraw(sched::Waiter& waiter) noexcept {
  sched::WaitQueue& queue = sched::open(queue_);
  queue.lock.lock();
  queue.list.remove(waiter);
  note_left();
  queue.lock.unlock();
}

bool countdown::wait(sched::WaitReason reason, const void* object, std::int64_t deadline_ns) noexcept {
  sched::point();
  if (is_zero()) return true;
  sched::WaitQueue& queue = sched::open(queue_);
  const bool is_over = sched::wait_unless(
      queue, reason, object, deadline_ns, [this] { return !note_waiting(); }, [this](bool) { note_left(); });
  if (is_over) order_acquire(&state_);
  return is_over;
}

}  // namespace weft::detail
