// SPDX-License-Identifier: MIT
#include "weft/mutex.h"

#include "api/lock_name.h"
#include "base/check.h"
#include "os/clock.h"
#include "sched/retreat.h"
#include "sched/wait_queue.h"

// Mutex.
//   State       kLocked; kWaiting: somebody is queued; kHandOver; kOpen: unlocked although somebody is queued; kLeaving: see
//               Unlock. All but kLocked change under the queue's lock (who takes an open mutex clears kOpen, who leaves kLeaving,
//               who was handed the lock kHandOver).
//   Unlock      takes kLocked away. If that was all, the mutex is free, and that was the last access. If not, it is not free yet:
//               nobody can take it until the one that unlocks has decided, under the queue's lock, who gets it or that it is open;
//               who is woken then is woken after the last access, and needs the mutex until then. If all have given up, nobody
//               keeps it: then kLeaving keeps it from being taken until the queue's lock is free, and clearing that is the last
//               access. So a mutex may go away with the last who needs it, as soon as that one's unlock has returned.
//   Giving up   leaves the bits as they are: with nobody queued they cost the next unlock a look at the queue, which clears them.
//   Barging     an open mutex may be taken by newcomers; the oldest waiter was woken and competes with them: no convoy.
//   Hand-over   a waiter that loses after more than 1 ms goes to the front and sets kHandOver: then unlock passes the lock itself
//               to it, and newcomers queue. It goes when the queue is empty, or when it serves one that waited less.
//   Lost wake   a waiter sets kWaiting with a CAS that sees the mutex not free; unlock is an RMW on the same word: one of the two
//               sees the other.
//   Model       tests/model/api/mutex_test.cc explores this file.
namespace weft {
namespace {

constexpr std::int64_t kHandOverAfterNs = 1'000'000;

// Worth a short wait: another P can be running the owner.
bool spinning_helps(unsigned round) { return sched::maxprocs() > 1 && round < 8; }

}  // namespace

bool mutex::lock_slow(std::int64_t deadline_ns) {
  sched::note_meeting();
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
    if (waiting_since == 0) waiting_since = os::now_ns();
    if (!wait.wait()) {
      queue.lock.lock();
      queue.list.remove(waiter);
      queue.lock.unlock();
      return false;
    }
    if (waiter.success) {  // handed over
      // Back to barging as soon as waiting is short again: hand-over costs a switch each time.
      if (os::now_ns() - waiting_since < kHandOverAfterNs) state_.fetch_and(~kHandOver, std::memory_order_relaxed);
      detail::order_acquire(&state_);
      return true;
    }
    if (try_lock()) return true;
  }
}

void mutex::unlock_slow() {
  if (state_.load(std::memory_order_relaxed) > 2 * kLocked - 1)  // less than nothing
    base::fatal("weft: unlock of an unlocked mutex%s", api::LockName(queue_.name, this).text());
  sched::WaitQueue& queue = sched::open(queue_);
  queue.lock.lock();
  sched::Waiter* next = queue.list.pop();
  while (next == nullptr) {  // they have given up
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
