// SPDX-License-Identifier: MIT
#include "weft/semaphore.h"

#include "sched/wait/wait_queue.h"
#include "weft/error.h"

// Semaphore.
//   State       Twice the number of permits, plus kWaiting while waiters are queued.
//   Invariant   kWaiting means no permits: it is set by a CAS that sees none, and permits are added only by a CAS that
//               sees it clear. So a permit released while there are waiters is handed over, and newcomers cannot
//               overtake.
//   Memory      The CAS that adds permits is the releaser's last access. A waiter that is handed a permit is woken
//               after the last access.
//   Model       tests/model/api/semaphore_test.cc explores this file.
namespace weft::detail {

void throw_bad_number_of_permits() {
  throw logic_error("weft: semaphore: the number of permits is negative or above max()");
}

bool semaphore_core::acquire_slow(std::int64_t deadline_ns) noexcept {
  sched::WaitQueue& queue = sched::open(queue_);
  const bool acquired = sched::wait_unless(
      queue, sched::WaitReason::kSemaphore, this, deadline_ns,
      [this] {
        std::uint64_t state = state_.load(std::memory_order_relaxed);
        for (;;) {
          const bool take = state >= kOne;
          if (state_.compare_exchange_weak(state, take ? state - kOne : state | kWaiting, std::memory_order_acq_rel))
            return take;  // pairs: semaphore.state
        }
      },
      [this, &queue](bool) {
        if (queue.list.empty()) state_.fetch_and(~kWaiting, std::memory_order_acq_rel);  // pairs: semaphore.state
      });
  if (acquired) order_acquire(&state_);
  return acquired;
}

void semaphore_core::release(std::ptrdiff_t n, std::ptrdiff_t most) {
  sched::WaitQueue& queue = sched::open(queue_);
  sched::WaitList granted;
  order_release(&state_);
  std::uint64_t state = state_.load(std::memory_order_relaxed);
  for (;;) {
    if (n < 0 || static_cast<std::uint64_t>(most - n) < state / kOne || n > most) {
      sched::wake_all(granted);
      throw logic_error("weft: semaphore::release: the number is negative, or there would be more than max() permits");
    }
    if ((state & kWaiting) == 0) {
      if (state_.compare_exchange_weak(state, state + static_cast<std::uint64_t>(n) * kOne,
                                       std::memory_order_acq_rel))  // pairs: semaphore.state
        break;
      continue;
    }
    queue.lock.lock();
    for (; n > 0; --n) {
      sched::Waiter* next = queue.list.pop();
      if (next == nullptr) break;
      granted.push(*next);
    }
    if (queue.list.empty()) state_.fetch_and(~kWaiting, std::memory_order_acq_rel);  // pairs: semaphore.state
    queue.lock.unlock();
    if (n == 0) break;
    state = state_.load(std::memory_order_relaxed);
  }
  sched::wake_all(granted);
}

}  // namespace weft::detail
