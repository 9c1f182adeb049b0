// SPDX-License-Identifier: MIT
#include "weft/watch.h"

#include "api/cancellable_wait.h"
#include "weft/error.h"

// Watch.
//   Guarded     Everything is, by the queue's lock; the state may be read without it.
//   No loss     A receiver queues only after it has seen, under the lock, that it knows the newest version and that
//               the watch is open. A sender and a closer change that under the lock, and take all waiters off the
//               queue.
//   Order       version() and closed() acquire what the change released (watch.state). The value is read under the
//               lock, together with its version.
//   User code   Destructors of values, and the closing of bells, run after the lock is released.
//   Rejected    The value in place under a shared mutex, as in Tokio: a receiver that keeps what it borrowed would
//               hold up the senders, and if it sends meanwhile, it would wait for itself.
//   Model       tests/model/api/watch_test.cc explores this file.
namespace weft::detail {

void throw_send_on_closed_watch() { throw logic_error("weft: watch: send on a closed watch"); }

std::shared_ptr<const void> watch_core::value(std::uint64_t* version) const noexcept {
  sched::WaitQueue& queue = sched::open(queue_);
  queue.lock.lock();
  std::shared_ptr<const void> latest = value_;
  if (version != nullptr) *version = state_.load(std::memory_order_relaxed) / kOne;
  queue.lock.unlock();
  order_acquire(&state_);
  return latest;
}

// Puts the next value in place, if there is one, and wakes all waiters. A closed watch does not change.
void watch_core::change(std::uint64_t by, std::shared_ptr<const void>* next, bool& was_closed) {
  sched::WaitQueue& queue = sched::open(queue_);
  sched::WaitList released;
  order_release(&state_);
  queue.lock.lock();
  const std::uint64_t state = state_.load(std::memory_order_relaxed);
  was_closed = (state & kClosed) != 0;
  change_bell::bell bell = change_bell::bell::nil();
  if (!was_closed) {
    if (next != nullptr) std::swap(value_, *next);  // the old value is destroyed after the lock, by the caller
    state_.store(state + by, std::memory_order_release);  // pairs: watch.state
    take_all(queue.list, released);
    bell = bell_.take();
  }
  queue.lock.unlock();
  wake_all(released);
  change_bell::ring(bell);
}

bool watch_core::publish(std::shared_ptr<const void> next) {
  bool was_closed = false;
  change(kOne, &next, was_closed);
  return !was_closed;
}

void watch_core::close() {
  bool was_closed = false;
  change(kClosed, nullptr, was_closed);
}

bool watch_core::is_news(std::uint64_t seen) const noexcept {
  const std::uint64_t state = state_.load(std::memory_order_acquire);  // pairs: watch.state
  return state / kOne != seen || (state & kClosed) != 0;
}

watch_status watch_core::wait(std::uint64_t& seen, std::int64_t deadline_ns, const context* until) {
  sched::WaitQueue& queue = sched::open(queue_);
  const auto is_news_now = [&] { return is_news(seen); };
  const auto leave = [](bool) {};
  if (until != nullptr) {
    sched::Waiter waiter;
    const api::WaitEnd end = api::wait_unless_cancelled(queue, waiter, sched::WaitReason::kWatch, this, deadline_ns,
                                                        *until, is_news_now, leave);
    if (end != api::WaitEnd::kDone)
      return end == api::WaitEnd::kCancelled ? watch_status::cancelled : watch_status::timed_out;
  } else if (!is_news_now() &&
             !sched::wait_unless(queue, sched::WaitReason::kWatch, this, deadline_ns, is_news_now, leave)) {
    return watch_status::timed_out;
  }
  order_acquire(&state_);
  const std::uint64_t newest = version();
  if (newest == seen) return watch_status::closed;
  seen = newest;
  return watch_status::changed;
}

bool watch_core::next_bell(std::uint64_t seen, change_bell::bell& fresh) noexcept {
  sched::WaitQueue& queue = sched::open(queue_);
  queue.lock.lock();
  const bool is_ready = is_news(seen);
  change_bell::bell unused = change_bell::bell::nil();
  if (!is_ready) {
    unused = bell_.get(fresh);
    std::swap(fresh, unused);
  }
  queue.lock.unlock();
  return !is_ready;
}

}  // namespace weft::detail
