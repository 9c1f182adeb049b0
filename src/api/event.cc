// SPDX-License-Identifier: MIT
#include "sched/wait_queue.h"
#include "weft/sync.h"

namespace weft {

void event::set() {
  sched::WaitQueue& queue = sched::open(queue_);
  sched::WaitList released;
  queue.lock.lock();
  set_.store(true, std::memory_order_release);  // pairs: event.set
  while (sched::Waiter* waiter = queue.list.pop()) released.push(*waiter);
  queue.lock.unlock();
  while (sched::Waiter* waiter = released.front()) {
    released.remove(*waiter);
    sched::wake(waiter);
  }
}

void event::reset() noexcept { set_.store(false, std::memory_order_release); }  // pairs: event.set

bool event::wait_until_ns(std::int64_t deadline_ns) {
  if (is_set()) return true;
  sched::Wait wait(sched::WaitReason::kEvent, this, deadline_ns);
  sched::Waiter waiter;
  wait.attach(waiter);
  sched::WaitQueue& queue = sched::open(queue_);
  queue.lock.lock();
  if (is_set()) {
    queue.lock.unlock();
    return true;
  }
  wait.begin();
  queue.list.push(waiter);
  queue.lock.unlock();
  if (wait.wait()) return true;
  queue.lock.lock();
  queue.list.remove(waiter);
  queue.lock.unlock();
  return false;
}

}  // namespace weft
