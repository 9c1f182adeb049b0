// SPDX-License-Identifier: MIT
#include "weft/once.h"

#include "sched/wait/wait_queue.h"

namespace weft {

bool once_flag::begin() noexcept {
  sched::Waiter waiter;
  bool is_mine = false;
  sched::wait_unless(
      sched::open(queue_), waiter, sched::WaitReason::kOnce, this, os::kForever,
      [&] {
        if (state_.load(std::memory_order_relaxed) == state::running) return false;
        is_mine = state_.load(std::memory_order_relaxed) == state::untouched;
        if (is_mine) state_.store(state::running, std::memory_order_relaxed);  // under the lock
        return true;
      },
      [](bool) {});
  detail::order_acquire(&state_);
  const bool runs_it = is_mine || waiter.success;  // success: the last run failed, and was left to us
  if (runs_it) holder_.note(detail::self_hint());
  return runs_it;
}

void once_flag::end(bool returned) noexcept {
  sched::WaitQueue& queue = sched::open(queue_);
  sched::WaitList released;
  detail::order_release(&state_);
  queue.lock.lock();
  if (returned) {
    state_.store(state::done, std::memory_order_release);  // pairs: once.state
    take_all(queue.list, released);
  } else if (sched::Waiter* next = queue.list.pop()) {
    next->success = true;
    released.push(*next);
  } else {
    state_.store(state::untouched, std::memory_order_relaxed);
  }
  queue.lock.unlock();
  sched::wake_all(released);
}

}  // namespace weft
