// SPDX-License-Identifier: MIT
#include "weft/weighted_semaphore.h"

#include <string>

#include "api/cancellable_wait.h"
#include "api/weighted_wait.h"
#include "weft/error.h"

// Weighted semaphore.
//   State       Twice the number of free permits, plus kWaiting.
//   Invariants  W1 kWaiting is set and cleared under the queue's lock. When the lock is released, it is set if and
//                  only if the queue is not empty.
//               W2 While kWaiting is set, the state changes only under the lock: try_take() refuses, and release()
//                  takes the lock. So newcomers cannot overtake, and serve_front() may read and write the state in
//                  two steps.
//               W3 When the lock is released, the front waiter wants more permits than are free, or it has given up
//                  and will call serve_front() when it leaves.
//   Served      From the front, as many waiters as there are permits for. A releaser serves, and so does a waiter
//               that gives up, because the waiters behind it may want less than it did.
//   Orders      An acquire sees what was done before the release of its permits (weighted.state): through its own
//               CAS, or through the lock and the wake-up. Lock-free releases before W2 began are acquired by the CAS
//               that sets kWaiting.
//   Memory      The CAS that adds permits is the releaser's last access; a served waiter is woken after the last
//               access.
//   Rejected    A lock around everything, as in Go: one locked operation more for each acquire that does not wait.
//   Model       tests/model/api/weighted_semaphore_test.cc explores this file.
namespace weft::detail {

void throw_bad_total() { throw logic_error("weft: weighted_semaphore: the number of permits is negative"); }

void weighted_core::throw_impossible(std::int64_t n) const {
  if (n < 0) throw logic_error("weft: weighted_semaphore: " + std::to_string(n) + " permits: the number is negative");
  throw logic_error("weft: weighted_semaphore: " + std::to_string(n) + " permits are asked for, but there are only " +
                    std::to_string(total_) + " in all: nobody could ever give them");
}

// Under the lock: takes the permits if there are enough and no waiters, else sets kWaiting.
bool weighted_core::take_or_announce(std::uint64_t n) noexcept {
  std::uint64_t state = state_.load(std::memory_order_relaxed);
  for (;;) {
    const bool take = (state & kWaiting) == 0 && state / kOne >= n;
    if (state_.compare_exchange_weak(state, take ? state - n * kOne : state | kWaiting,
                                     std::memory_order_acq_rel))  // pairs: weighted.state
      return take;
  }
}

// Under the lock, with kWaiting set (W2): adds what was returned, and makes W3 true.
void weighted_core::serve_front(std::uint64_t returned, void* woken) noexcept {
  sched::WaitQueue& queue = sched::open(queue_);
  auto& served = *static_cast<sched::WaitList*>(woken);
  std::uint64_t permits = state_.load(std::memory_order_relaxed) / kOne + returned;
  while (sched::Waiter* front = queue.list.front()) {
    const std::uint64_t wanted = static_cast<weighted_wait*>(front)->wanted;
    if (wanted > permits) break;
    queue.list.take_off(front);
    if (front->choice != nullptr && !front->choice->fire(front)) continue;  // it has given up, and will leave
    permits -= wanted;
    served.push(*front);
  }
  const std::uint64_t waiting = queue.list.empty() ? 0 : kWaiting;
  state_.store(permits * kOne | waiting, std::memory_order_release);  // pairs: weighted.state
}

bool weighted_core::acquire(std::int64_t n, std::int64_t deadline_ns, const context* until) {
  if (n < 0 || static_cast<std::uint64_t>(n) > total_) throw_impossible(n);
  const auto wanted = static_cast<std::uint64_t>(n);
  if (until != nullptr && until->cancelled()) return false;
  if (try_take(wanted)) return true;
  sched::WaitQueue& queue = sched::open(queue_);
  weighted_wait waiter(*this, wanted);
  sched::WaitList served;
  const auto take = [&] { return take_or_announce(wanted); };
  const auto leave = [&](bool) {
    // If kWaiting is clear, the thread that took us off the list has served all waiters behind us, too.
    if ((state_.load(std::memory_order_relaxed) & kWaiting) != 0) serve_front(0, &served);
  };
  const auto reason = sched::WaitReason::kWeighted;
  const bool taken =
      until == nullptr
          ? sched::wait_unless(queue, waiter, reason, &waiter, deadline_ns, take, leave)
          : api::wait_unless_cancelled(queue, waiter, reason, &waiter, deadline_ns, *until, take, leave) ==
                api::WaitEnd::kDone;
  sched::wake_all(served);
  if (taken) order_acquire(&state_);
  return taken;
}

void weighted_core::release(std::int64_t n) {
  sched::WaitQueue& queue = sched::open(queue_);
  const auto returned = static_cast<std::uint64_t>(n);
  order_release(&state_);
  const auto refuse_too_many = [&](std::uint64_t state) {
    if (n < 0 || returned > total_ - state / kOne)
      throw logic_error("weft: weighted_semaphore::release: " + std::to_string(n) +
                        " permits are returned, which is negative or more than have been acquired");
  };
  std::uint64_t state = state_.load(std::memory_order_relaxed);
  for (;;) {
    refuse_too_many(state);
    if ((state & kWaiting) == 0) {
      if (state_.compare_exchange_weak(state, state + returned * kOne, std::memory_order_release,
                                       std::memory_order_relaxed))  // pairs: weighted.state
        return;
      continue;
    }
    sched::WaitList served;
    queue.lock.lock();
    state = state_.load(std::memory_order_relaxed);
    if ((state & kWaiting) == 0 || returned > total_ - state / kOne) {  // looked at again above
      queue.lock.unlock();
      continue;
    }
    serve_front(returned, &served);
    queue.lock.unlock();
    sched::wake_all(served);
    return;
  }
}

}  // namespace weft::detail
