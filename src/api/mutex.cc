// SPDX-License-Identifier: MIT
#include "weft/mutex.h"

#include "api/lock_name.h"
#include "base/check.h"
#include "sched/core/retreat.h"
#include "sched/state/control.h"
#include "sched/wait/wait_queue.h"

// Mutex.
//   State       kLocked. kWaiting: waiters are queued. kHandOver: see Hand-over. kOpen: unlocked although waiters are
//               queued. kLeaving: see Unlock. All but kLocked are set under the queue's lock, and cleared there, or
//               without it: kOpen by the locker of an open mutex, kLeaving by the unlocker that leaves, kHandOver by
//               the waiter that was handed the lock.
//   Unlock      Clears kLocked. If no other bit was set, the mutex is free, and that was the last access. Otherwise the
//               mutex is not free yet: no thread can take it until the unlocker has decided, under the queue's lock,
//               which waiter gets it or that it is open. The unlocker wakes a waiter after its own last access; that
//               waiter needs the mutex, and so keeps it until then. If all waiters have given up, none keeps the mutex.
//               Then kLeaving prevents taking it until the queue's lock is free, and clearing kLeaving is the last
//               access. So a mutex may be destroyed by the last thread that needs it, as soon as the unlock of that
//               thread has returned.
//   Giving up   Leaves the bits as they are. With an empty queue they cost the next unlock a look at the queue, which
//               clears them.
//   Barging     Newcomers may take an open mutex. The oldest waiter was woken and competes with them, so there is no
//               convoy.
//   Hand-over   A waiter that loses after more than 1 ms goes to the front and sets kHandOver. Then unlock passes the
//               lock itself to that waiter, and newcomers queue. kHandOver is cleared when the queue is empty, or when
//               a waiter gets the lock that waited less.
//   Lost wake   Cannot happen: a waiter sets kWaiting with a CAS that sees the mutex not free, and unlock is an RMW on
//               the same word. One of the two sees the other.
//   Model       tests/model/api/mutex_test.cc explores this file.
namespace weft {
namespace {

constexpr std::int64_t kHandOverAfterNs = 1'000'000;

// A short wait may pay, because another P may be running the owner.
bool spinning_helps(unsigned round) { return sched::maxprocs() > 1 && round < 8; }

}  // namespace

bool mutex::lock_slow(std::int64_t deadline_ns) {
  if (sched::own_control() != nullptr) {
    sched::point();
    if (try_lock_now()) return true;
  } else {
    sched::note_meeting();
    for (unsigned round = 0; spinning_helps(round); ++round) {
      base::cpu_relax(1u << (round < 6 ? round : 6));
      if (try_lock_now()) return true;
    }
  }
  sched::WaitQueue& queue = sched::open(queue_);
  std::int64_t waiting_since = 0;
  for (;;) {
    sched::Wait wait(sched::WaitReason::kMutex, this, deadline_ns);
    sched::Waiter waiter;
    wait.attach(waiter);
    const bool impatient = waiting_since != 0 && sched::caller_now_ns() - waiting_since > kHandOverAfterNs;
    queue.lock.lock();
    std::uint32_t state = state_.load(std::memory_order_relaxed);
    for (;;) {
      if (is_free(state)) {
        if (state_.compare_exchange_weak(state, (state & ~kOpen) | kLocked,
                                         std::memory_order_acquire)) {  // pairs: mutex.state
          queue.lock.unlock();
          detail::order_acquire(&state_);
          holder_.note(detail::self_hint());
          return true;
        }
      } else if (state_.compare_exchange_weak(state, state | kWaiting | (impatient ? kHandOver : 0),
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
    if (waiting_since == 0) waiting_since = sched::caller_now_ns();
    if (!wait.wait()) {
      queue.lock.lock();
      queue.list.remove(waiter);
      queue.lock.unlock();
      return false;
    }
    if (waiter.success) {  // handed over
      // Back to barging as soon as waiting is short again: hand-over costs a switch each time.
      if (sched::caller_now_ns() - waiting_since < kHandOverAfterNs) state_.fetch_and(~kHandOver, std::memory_order_relaxed);
      detail::order_acquire(&state_);
      return true;
    }
    if (try_lock_now()) return true;
  }
}

void mutex::unlock_slow() {
  if (state_.load(std::memory_order_relaxed) > 2 * kLocked - 1)  // it was not locked: the subtraction has wrapped
    base::fatal("weft: unlock of an unlocked mutex%s", api::LockName(queue_.name, this).text());
  sched::WaitQueue& queue = sched::open(queue_);
  queue.lock.lock();
  sched::Waiter* next = queue.list.pop();
  while (next == nullptr) {  // all waiters have given up
    state_.store(kLeaving, std::memory_order_relaxed);
    queue.lock.unlock();
    std::uint32_t leaving = kLeaving;
    if (state_.compare_exchange_strong(leaving, 0, std::memory_order_release, std::memory_order_relaxed))
      return;  // pairs: mutex.state
    queue.lock.lock();
    next = queue.list.pop();
  }
  const bool hand_over = (state_.load(std::memory_order_relaxed) & kHandOver) != 0;
  std::uint32_t state = queue.list.empty() ? 0 : hand_over ? kWaiting | kHandOver : kWaiting | kOpen;
  if (hand_over) {
    state |= kLocked;
    holder_.note(sched::hint_of(*next));
  }
  state_.store(state, std::memory_order_release);  // pairs: mutex.state
  queue.lock.unlock();
  next->success = hand_over;
  sched::wake(next);
}

}  // namespace weft
