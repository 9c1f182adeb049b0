// SPDX-License-Identifier: MIT
#include "weft/condition_variable.h"

#include "sched/state/control.h"
#include "sched/wait/wait_queue.h"

// Condition variables.
//   Queued      A waiter queues before it releases the user's lock, so that a later notification reaches it. It falls
//               asleep only after the release, because the user's unlock() may itself park. A waiter that is notified
//               in between does not fall asleep at all.
//   Memory      A notified waiter does not touch the condition variable any more. A waiter whose time limit came first
//               takes itself off the queue; the destructor waits for it.
//   Once        The waiter's CAS leads from kQueued to kAsleep, the notifier's exchange to kNotified (condition.state).
//               The later of the two sees the other. So a sleeping waiter is woken, and one that has not fallen asleep
//               yet is not.
//   Not spent   A notification never goes to a waiter whose time limit has fired its Choice: the next in the queue gets
//               it.
//   Model       tests/model/api/condition_test.cc explores this file.
namespace weft::detail {
namespace {

enum State : std::uint8_t { kQueued, kAsleep, kNotified };

struct Queued : sched::Waiter {
  base::Atom<std::uint8_t> state{kQueued};
};

}  // namespace

condition_core::~condition_core() {
  sched::WaitQueue& queue = sched::open(queue_);
  const auto somebody_leaves = [&] {
    bool found = false;
    queue.lock.lock();
    for (sched::Waiter* waiter = queue.list.front(); waiter != nullptr && !found; waiter = waiter->next)
      found = waiter->choice != nullptr && waiter->choice->has_fired();
    queue.lock.unlock();
    return found;
  };
  // At the end of the process the waiters that would leave have been stopped.
  while (somebody_leaves() && !sched::scheduler.exiting.load_acquire()) sched::yield();  // pairs: exiting
}

void condition_core::notify_if_any(std::uint64_t most) noexcept {
  sched::point();
  // A waiter queues before it releases the user's lock, and the caller has held that lock since. So the waiter is
  // visible without the queue's lock.
  if (!sched::open(queue_).list.empty()) notify(most);
}

void condition_core::notify(std::uint64_t most) noexcept {
  sched::WaitQueue& queue = sched::open(queue_);
  sched::WaitList asleep;
  queue.lock.lock();
  for (sched::Waiter* next = queue.list.front(); next != nullptr && most > 0;) {
    auto* waiter = static_cast<Queued*>(next);
    next = next->next;
    if (waiter->choice != nullptr && !waiter->choice->fire(waiter)) continue;  // it leaves by itself
    queue.list.remove(*waiter);
    --most;
    if (waiter->state.exchange_acq_rel(kNotified) == kAsleep) asleep.push(*waiter);  // pairs: condition.state
  }
  queue.lock.unlock();
  sched::wake_all(asleep);
}

bool condition_core::wait_ns(lock_operations lock, std::int64_t deadline_ns) {
  sched::point();
  sched::WaitQueue& queue = sched::open(queue_);
  sched::Wait wait(sched::WaitReason::kCondition, this, deadline_ns);
  Queued waiter;
  wait.attach(waiter);
  queue.lock.lock();
  queue.list.push(waiter);
  queue.lock.unlock();
  const auto leave = [&] {
    queue.lock.lock();
    queue.list.remove(waiter);
    queue.lock.unlock();
  };
  try {
    lock.release(lock.lock);
  } catch (...) {
    leave();
    throw;
  }
  bool notified = true;
  sched::calling_goroutine();  // the user's unlock() may have lost the P
  wait.begin();
  std::uint8_t queued = kQueued;
  if (waiter.state.cas_acq_rel(queued, kAsleep)) {  // pairs: condition.state
    notified = wait.wait();
    if (!notified) leave();
  } else {
    wait.call_off();
  }
  lock.reacquire(lock.lock);
  return notified;
}

}  // namespace weft::detail
