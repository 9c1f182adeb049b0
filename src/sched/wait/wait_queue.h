// SPDX-License-Identifier: MIT
#pragma once
#include <new>
#include <type_traits>

#include "os/spin_lock.h"
#include "sched/state/control.h"
#include "sched/wait/waiter.h"
#include "weft/detail/wait_queue.h"

namespace weft::sched {

// A primitive's waiters and the lock over them. It lives in the storage that public headers reserve.
struct WaitQueue {
  os::SpinLock lock;
  WaitList list;
};
static_assert(sizeof(WaitQueue) == sizeof(weft::detail::wait_queue::storage) &&
              alignof(WaitQueue) == alignof(weft::detail::wait_queue));

// Under the lock: moves every waiter that still waits to `taken`, and fires its choice. They sleep until wake_all(),
// which is called after the unlock.
inline void take_all(WaitList& list, WaitList& taken) noexcept {
  while (Waiter* waiter = list.pop()) taken.push(*waiter);
}
inline void wake_all(WaitList& taken) noexcept {
  while (Waiter* waiter = taken.front()) {
    taken.remove(*waiter);
    wake(waiter);
  }
}

// The waiting goroutine, as a hint for reports (detail/holder_hint.h). 0: a plain thread.
inline std::uint32_t hint_of(const Waiter& waiter) noexcept {
  const Goroutine* g = waiter.who.goroutine();
  return g != nullptr ? static_cast<std::uint32_t>(g->id) : 0;
}

// Waits for what the primitive gives. Under the queue's lock, `is_done` either takes it for the caller and returns
// true, or notes in the primitive that a waiter comes. In the second case the caller queues until it is woken. A wake
// means that the waker has given the caller what it wants. Returns false if the time limit came first: then `gave_up`
// was called under the lock, with whether the waiter was still queued.
template <class IsDone, class GaveUp>
bool wait_unless(WaitQueue& queue, Waiter& waiter, WaitReason reason, const void* object, std::int64_t deadline_ns,
                 IsDone is_done, GaveUp gave_up) {
  Wait wait(reason, object, deadline_ns);
  wait.attach(waiter);
  const bool too_late = deadline_ns != os::kForever && deadline_ns <= caller_now_ns();
  queue.lock.lock();
  if (is_done()) {
    queue.lock.unlock();
    return true;
  }
  bool was_queued = true;
  if (!too_late) {
    wait.begin();
    queue.list.push(waiter);
    queue.lock.unlock();
    if (wait.wait()) return true;
    queue.lock.lock();
    was_queued = waiter.queued;
    queue.list.remove(waiter);
  }
  gave_up(was_queued);
  queue.lock.unlock();
  return false;
}
template <class IsDone, class GaveUp>
bool wait_unless(WaitQueue& queue, WaitReason reason, const void* object, std::int64_t deadline_ns, IsDone is_done,
                 GaveUp gave_up) {
  Waiter waiter;
  return wait_unless(queue, waiter, reason, object, deadline_ns, is_done, gave_up);
}

inline WaitQueue& open(weft::detail::wait_queue& storage) noexcept {
  return *std::launder(reinterpret_cast<WaitQueue*>(storage.storage));
}

}  // namespace weft::sched
