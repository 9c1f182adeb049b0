// SPDX-License-Identifier: MIT
#include "weft/wait_group.h"

#include "sched/wait_queue.h"

// Wait group.
//   Invariant   waiters are counted and queued under the lock; the add() that brings the count to zero takes them all.
//   Orders      add: acq_rel (what was done before done() is visible after wait())   -- wait: acquire load of the count
namespace weft {
namespace {
std::int32_t count_of(std::uint64_t state) { return static_cast<std::int32_t>(state >> 32); }
}  // namespace

void wait_group::add(int n) {
  const std::uint64_t delta = static_cast<std::uint64_t>(static_cast<std::int64_t>(n)) << 32;
  const std::uint64_t before = state_.fetch_add(delta, std::memory_order_acq_rel);  // pairs: wait_group.state
  const std::int64_t count = std::int64_t{count_of(before)} + n;
  if (count < 0 || count > INT32_MAX) [[unlikely]] {
    state_.fetch_sub(delta, std::memory_order_acq_rel);  // pairs: wait_group.state
    throw logic_error(count < 0 ? "weft: negative wait_group counter" : "weft: wait_group counter overflow");
  }
  if (count != 0 || static_cast<std::uint32_t>(before) == 0) [[likely]]
    return;

  sched::WaitQueue& queue = sched::open(queue_);
  sched::WaitList released;
  queue.lock.lock();
  std::uint32_t taken = 0;
  while (sched::Waiter* waiter = queue.list.pop()) {
    released.push(*waiter);
    ++taken;
  }
  state_.fetch_sub(taken, std::memory_order_acq_rel);  // pairs: wait_group.state
  queue.lock.unlock();
  sched::wake_all(released);
}

bool wait_group::wait_until_ns(std::int64_t deadline_ns) {
  if (count_of(state_.load(std::memory_order_acquire)) == 0) return true;  // pairs: wait_group.state
  return sched::wait_unless(
      sched::open(queue_), sched::WaitReason::kWaitGroup, this, deadline_ns,
      [this] {
        std::uint64_t state = state_.load(std::memory_order_acquire);  // pairs: wait_group.state
        do {
          if (count_of(state) == 0) return true;
        } while (
            !state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel));  // pairs: wait_group.state
        return false;
      },
      [this](bool was_counted) {
        if (was_counted) state_.fetch_sub(1, std::memory_order_acq_rel);  // pairs: wait_group.state
      });
}

}  // namespace weft
