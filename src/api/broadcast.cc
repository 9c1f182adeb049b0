// SPDX-License-Identifier: MIT
#include "weft/broadcast.h"

#include <algorithm>

#include "api/cancellable_wait.h"
#include "sched/frames/user_call.h"
#include "weft/error.h"

// Broadcast.
//   Guarded     Everything is, by the queue's lock.
//   Positions   The n-th value sent has position n. A receiver's `next` is the position that it takes next, and only
//               the receiver moves it. The ring holds the positions from oldest() to end_.
//   Invariant   A slot's `missing` is the number of receivers whose `next` is at or before its position. The sender
//               sets it, and each of these receivers lowers it once: when it takes the value, or when it
//               unsubscribes. A receiver that has fallen behind the ring skips positions whose slots hold newer
//               values, and lowers nothing for them.
//   No loss     A receiver queues only after it has seen, under the lock, that its position is the end and that the
//               broadcast is open. A sender and a closer change that under the lock, and take all waiters off the
//               queue.
//   User code   Destructors of values, and the closing of bells, run after the lock is released.
//   Rejected    Values in place, each slot under its own lock, as in Tokio: a send allocates nothing, but each
//               receiver copies the value under that lock, where the copy may park or throw.
//   Model       tests/model/api/broadcast_test.cc explores this file.
namespace weft::detail {

void throw_send_on_closed_broadcast() { throw logic_error("weft: broadcast: send on a closed broadcast"); }

broadcast_core::broadcast_core(std::size_t capacity, const char* name) : queue_(name), slots_(capacity) {
  if (capacity == 0) throw logic_error("weft: broadcast: the capacity is 0: no receiver could ever get a value");
}

std::size_t broadcast_core::send(std::shared_ptr<const void> value) {
  sched::WaitQueue& queue = sched::open(queue_);
  sched::WaitList released;
  change_bell::bell bell = change_bell::bell::nil();
  queue.lock.lock();
  const bool was_closed = closed_;
  const std::size_t receivers = receivers_;
  if (!was_closed && receivers != 0) {
    slot& own = at(end_++);
    if (own.value != nullptr) order_acquire(&own);  // after the sender of the value that falls out
    std::swap(own.value, value);                    // the old value is destroyed after the lock
    own.missing = receivers;
    order_release(&own);
    take_all(queue.list, released);
    bell = bell_.take();
  }
  queue.lock.unlock();
  wake_all(released);
  change_bell::ring(bell);
  if (was_closed) throw_send_on_closed_broadcast();
  return receivers;
}

void broadcast_core::close() {
  sched::WaitQueue& queue = sched::open(queue_);
  sched::WaitList released;
  order_release(&closed_);
  queue.lock.lock();
  closed_ = true;
  take_all(queue.list, released);
  const change_bell::bell bell = bell_.take();
  queue.lock.unlock();
  wake_all(released);
  change_bell::ring(bell);
}

bool broadcast_core::closed() const noexcept {
  sched::WaitQueue& queue = sched::open(queue_);
  queue.lock.lock();
  const bool result = closed_;
  queue.lock.unlock();
  if (result) order_acquire(&closed_);
  return result;
}

std::size_t broadcast_core::receivers() const noexcept {
  sched::WaitQueue& queue = sched::open(queue_);
  queue.lock.lock();
  const std::size_t result = receivers_;
  queue.lock.unlock();
  return result;
}

std::uint64_t broadcast_core::waiting(std::uint64_t next) const noexcept {
  sched::WaitQueue& queue = sched::open(queue_);
  queue.lock.lock();
  const std::uint64_t result = end_ - next;
  queue.lock.unlock();
  return result;
}

std::uint64_t broadcast_core::subscribe() noexcept {
  sched::WaitQueue& queue = sched::open(queue_);
  queue.lock.lock();
  ++receivers_;
  const std::uint64_t next = end_;
  queue.lock.unlock();
  return next;
}

// First the receiver stops counting for later values. Then it passes the present values one by one, because their
// destructors run without the lock.
void broadcast_core::unsubscribe(std::uint64_t next) noexcept {
  sched::WaitQueue& queue = sched::open(queue_);
  queue.lock.lock();
  --receivers_;
  const std::uint64_t end = end_;
  queue.lock.unlock();
  for (; next < end; ++next) {
    std::shared_ptr<const void> gone;
    queue.lock.lock();
    next = std::max(next, oldest());
    if (next < end && --at(next).missing == 0) gone = std::move(at(next).value);
    if (gone != nullptr) order_acquire(&at(next));
    queue.lock.unlock();
    sched::drop_by_user(gone);
  }
}

// Under the lock. True: `out` holds the result, which may be the end of the broadcast.
bool broadcast_core::take_now(std::uint64_t& next, taken& out) noexcept {
  if (next == end_) {
    if (closed_) {
      out.status = chan_status::closed;
      order_acquire(&closed_);
    }
    return closed_;
  }
  const std::uint64_t first = std::max(next, oldest());
  out.missed = first - next;
  out.status = chan_status::received;
  next = first + 1;
  slot& from = at(first);
  order_acquire(&from);
  if (--from.missing == 0) {
    out.value = std::move(from.value);
  } else {
    out.value = from.value;
  }
  return true;
}

broadcast_core::taken broadcast_core::take(std::uint64_t& next, std::int64_t deadline_ns, const context* until) {
  sched::WaitQueue& queue = sched::open(queue_);
  taken got;
  const auto take_here = [&] { return take_now(next, got); };
  const auto leave = [](bool) {};
  bool done;
  if (until != nullptr) {
    sched::Waiter waiter;
    done = api::wait_unless_cancelled(queue, waiter, sched::WaitReason::kBroadcast, this, deadline_ns, *until,
                                      take_here, leave) == api::WaitEnd::kDone;
  } else {
    done = sched::wait_unless(queue, sched::WaitReason::kBroadcast, this, deadline_ns, take_here, leave);
  }
  if (done && got.status == chan_status::empty) {  // woken: there is something now
    queue.lock.lock();
    take_now(next, got);
    queue.lock.unlock();
  }
  return got;
}

bool broadcast_core::next_bell(std::uint64_t next, change_bell::bell& fresh) noexcept {
  sched::WaitQueue& queue = sched::open(queue_);
  change_bell::bell unused = change_bell::bell::nil();
  queue.lock.lock();
  const bool is_ready = next != end_ || closed_;
  if (!is_ready) {
    unused = bell_.get(fresh);
    std::swap(fresh, unused);
  }
  queue.lock.unlock();
  return !is_ready;
}

}  // namespace weft::detail
