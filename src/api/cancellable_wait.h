// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "api/context_watch.h"
#include "sched/state/control.h"
#include "sched/wait/wait_queue.h"

namespace weft::api {

enum class WaitEnd : std::uint8_t { kDone, kTimeLimit, kCancelled };

// As sched::wait_unless(), but the cancellation of a context ends the wait, too.
//   Order      The context is watched only after the waiter is queued and the wait has begun, so that a cancellation
//              never wakes a goroutine that does not wait. If the context is cancelled by then, the waiter fires its
//              own Choice and does not sleep.
//   One wins   The owner of the list, the time limit and the context fire the same Choice: the one that succeeds wakes.
//   Frames     The watch is on the waiter's stack. When unwatch_context() returns, `fired` neither runs nor will run.
//   Cancelled  before the call: kCancelled, even if is_done() would be true.
//   Model      tests/model/api/weighted_semaphore_test.cc.
template <class IsDone, class GaveUp>
WaitEnd wait_unless_cancelled(sched::WaitQueue& queue, sched::Waiter& waiter, sched::WaitReason reason,
                              const void* object, std::int64_t deadline_ns, const context& until, IsDone is_done,
                              GaveUp gave_up) {
  struct Watch : detail::context_watch {
    sched::Wait* wait;
    bool decided = false;  // the cancellation ended the wait
  } watch;
  watch.fired = [](detail::context_watch* fired) {
    auto* own = static_cast<Watch*>(fired);
    if (!own->wait->choice().fire(nullptr)) return;
    own->decided = true;
    own->wait->sleeper().wake();
  };
  if (until.cancelled()) return WaitEnd::kCancelled;
  sched::Wait wait(reason, object, deadline_ns);
  watch.wait = &wait;
  wait.attach(waiter);
  waiter.choice = &wait.choice();
  const bool too_late = deadline_ns != os::kForever && deadline_ns <= sched::caller_now_ns();
  queue.lock.lock();
  if (is_done()) {
    queue.lock.unlock();
    return WaitEnd::kDone;
  }
  if (too_late) {
    gave_up(false);
    queue.lock.unlock();
    return WaitEnd::kTimeLimit;
  }
  wait.begin();
  queue.list.push(waiter);
  queue.lock.unlock();
  if (!detail::watch_context(until, watch) && wait.choice().fire(nullptr)) {
    watch.decided = true;
    wait.call_off();
  } else {
    wait.wait();
    detail::unwatch_context(watch);
  }
  if (wait.choice().winner != nullptr) return WaitEnd::kDone;
  queue.lock.lock();
  const bool was_queued = waiter.queued;
  queue.list.remove(waiter);
  gave_up(was_queued);
  queue.lock.unlock();
  return watch.decided ? WaitEnd::kCancelled : WaitEnd::kTimeLimit;
}

}  // namespace weft::api
