// SPDX-License-Identifier: MIT
#include "weft/mutex.h"

#include "base/check.h"
#include "os/clock.h"
#include "sched/wait_queue.h"

// Mutex.
//   State       bit 0 locked, bit 1 hand-over, the rest counts queued waiters (changed under the queue's lock only).
//   Barging     unlock frees the lock and wakes the oldest waiter, which competes with newcomers: no convoy.
//   Hand-over   a waiter that loses after more than 1 ms goes to the front and sets bit 1: then unlock passes the lock itself to
//               it, and newcomers queue. The bit goes when the queue is empty, or when it serves one that waited less.
//   Lost wake   a waiter registers (counts itself) with a CAS that sees the lock held; unlock is an RMW on the same word: one
//               of the two sees the other. It is on the list before anybody can look: registering and unlocking with waiters
//               both hold the queue's lock.
//   Exclusion   bit 0 is set by the CAS of whoever enters, or stays set from who leaves to who is handed the lock (`success`,
//               written before the wake-up): never both, for unlock decides under the queue's lock, by one CAS.
//   Orders      mutex.state: release by whoever clears bit 0, acquire by whoever sets it; a CAS of others in between continues
//               the release sequence. Handed over: by the wake-up.
//   No stall    who is woken without the lock competes again, and after 1 ms asks for the hand-over at its next turn. Bit 1 with
//               an empty queue would shut out try_lock for good: unlock clears it when it takes the last waiter or finds none.
//   Rejected    always handing over: each critical section then costs a switch. Never: no bound on waiting.
//   Model       tests/model/api/mutex_test.cc explores this file.
namespace weft {
namespace {

constexpr std::int64_t kHandOverAfterNs = 1'000'000;

// Worth a short wait: another P can be running the owner.
bool spinning_helps(unsigned round) { return sched::maxprocs() > 1 && round < 8; }

}  // namespace

bool mutex::lock_slow(std::int64_t deadline_ns) {
  for (unsigned round = 0; spinning_helps(round); ++round) {
    base::cpu_relax(1u << (round < 6 ? round : 6));
    if (try_lock()) return true;
  }
  sched::WaitQueue& queue = sched::open(queue_);
  std::int64_t waiting_since = 0;
  for (;;) {
    sched::Wait wait(sched::WaitReason::kMutex, this, deadline_ns);
    sched::Waiter waiter;
    wait.attach(waiter);
    const bool impatient = waiting_since != 0 && os::now_ns() - waiting_since > kHandOverAfterNs;
    queue.lock.lock();
    std::uint32_t state = state_.load(std::memory_order_relaxed);
    for (;;) {
      if ((state & kLocked) == 0) {
        if (state_.compare_exchange_weak(state, state | kLocked, std::memory_order_acquire)) {  // pairs: mutex.state
          queue.lock.unlock();
          return true;
        }
      } else if (state_.compare_exchange_weak(state, (state + kOneWaiter) | (impatient ? kHandOver : 0),
                                              std::memory_order_acq_rel)) {  // pairs: mutex.state
        break;
      }
    }
    wait.begin();
    if (waiting_since != 0)
      queue.list.push_front(waiter);
    else
      queue.list.push(waiter);
    queue.lock.unlock();
    if (waiting_since == 0) waiting_since = os::now_ns();
    if (!wait.wait()) {
      queue.lock.lock();
      if (waiter.queued) {
        queue.list.remove(waiter);
        state_.fetch_sub(kOneWaiter, std::memory_order_acq_rel);  // pairs: mutex.state
      }
      queue.lock.unlock();
      return false;
    }
    if (waiter.success) {  // handed over
      // Back to barging as soon as waiting is short again: hand-over costs a switch each time.
      if (os::now_ns() - waiting_since < kHandOverAfterNs) state_.fetch_and(~kHandOver, std::memory_order_relaxed);
      return true;
    }
    if (try_lock()) return true;
  }
}

void mutex::unlock_slow() {
  std::uint32_t state = state_.load(std::memory_order_relaxed);
  if ((state & kLocked) == 0) base::fatal("weft: unlock of an unlocked mutex (at %p)", static_cast<void*>(this));
  sched::WaitQueue& queue = sched::open(queue_);
  queue.lock.lock();
  sched::Waiter* next = queue.list.pop();
  state = state_.load(std::memory_order_relaxed);
  const bool hand_over = next != nullptr && (state & kHandOver) != 0;
  for (;;) {
    std::uint32_t desired = hand_over ? state : state & ~kLocked;
    if (next != nullptr) desired -= kOneWaiter;
    if (queue.list.empty())
      desired &= kLocked;  // nobody is left: no hand-over, no count (timed-out waiters left by themselves)
    if (state_.compare_exchange_weak(state, desired, std::memory_order_acq_rel)) break;  // pairs: mutex.state
  }
  queue.lock.unlock();
  if (next == nullptr) return;
  next->success = hand_over;
  sched::wake(next);
}

}  // namespace weft
