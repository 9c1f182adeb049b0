// SPDX-License-Identifier: MIT
#include <cstring>
#include <new>

#include "api/chan_core.h"
#include "api/start.h"
#include "api/timer_chan.h"
#include "os/clock.h"
#include "sched/state/control.h"
#include "sched/wait/wait_queue.h"
#include "weft/detail/clock.h"

// Why it is right: timer_chan.h.
namespace weft::detail {

using sched::Waiter;

timer_chan::timer_chan(const element_ops& ops, std::int64_t when, std::int64_t period) noexcept
    : chan_core(0, ops, nullptr, nullptr) {
  order_release(static_cast<chan_core*>(this));
  callback = [](sched::Timer* due) { fire(due); };
  state_.store_relaxed(kTimers);
  is_started_ = true;
  period_ns_ = period;
  when_ns_.store_relaxed(when);
}

// A tick carries its own time, however late it is received. Ticks missed meanwhile are dropped.
bool timer_chan::take_tick(void* storage) noexcept {
  const std::int64_t when = when_ns_.load_relaxed(), now = sched::caller_now_ns();
  if (when > now) return false;
  std::memcpy(storage, &when, sizeof when);
  std::int64_t next = os::kForever;
  if (period_ns_ > 0) {
    const std::int64_t periods = (now - when) / period_ns_ + 1;
    if (__builtin_mul_overflow(periods, period_ns_, &next) || __builtin_add_overflow(when, next, &next))
      next = os::kForever;
  }
  when_ns_.store_relaxed(next);
  is_started_ = period_ns_ > 0;
  return true;
}

// Null: it is not time yet, or there is no waiter. Otherwise the caller wakes the waiter after the lock.
Waiter* timer_chan::serve_first() noexcept {
  if (!timer_due()) return nullptr;
  Waiter* first = pop(receivers_);
  if (first != nullptr) first->success = take_tick(first->element);
  return first;
}

void timer_chan::settle() noexcept {
  if (is_arming_) return;
  is_arming_ = true;
  ++strays_;
  while (!is_settled()) {
    if (armed_ns_ != os::kForever) {
      lock_.unlock();
      sched::stop_timer(this);
      lock_.lock();
      armed_ns_ = os::kForever;
    } else {
      armed_ns_ = when_ns = wanted_ns();
      lock_.unlock();
      sched::start_timer(this);
      lock_.lock();
    }
  }
  --strays_;
  is_arming_ = false;
}

void timer_chan::settle_and_unlock() noexcept {
  if (!is_settled()) settle();
  const bool unused = orphan_ && is_unused();
  lock_.unlock();
  if (unused) destroy(this);
}

// Called by the heap, under its lock. A thread that ends the channel meanwhile waits for that in stop_timer().
void timer_chan::fire(sched::Timer* due) noexcept {
  auto* self = static_cast<timer_chan*>(due);
  self->lock_.lock();
  self->armed_ns_ = os::kForever;
  Waiter* first = self->serve_first();
  if (!self->is_settled()) {
    self->armed_ns_ = self->when_ns = self->wanted_ns();
    self->heap.load_relaxed()->add_again(self);
  }
  self->lock_.unlock();
  if (first != nullptr) sched::wake(first);
}

// Takes the plain threads, because they wait for the old time.
void timer_chan::take_threads(sched::WaitList& taken) noexcept {
  for (Waiter *waiter = receivers_.front(), *next; waiter != nullptr; waiter = next) {
    next = waiter->next;
    if (waiter->who.goroutine() != nullptr || (waiter->choice != nullptr && !waiter->choice->fire(waiter))) continue;
    receivers_.remove(*waiter);
    waiter->retry = true;
    taken.push(*waiter);
  }
}

bool timer_chan::change(std::int64_t when, std::int64_t period, bool start) noexcept {
  sched::WaitList threads;
  order_release(static_cast<chan_core*>(this));
  lock_.lock();
  const bool was_pending = is_started_;
  is_started_ = start;  // state_ stays kTimers: selects read it without the lock
  period_ns_ = period;
  when_ns_.store_relaxed(when);
  take_threads(threads);
  settle_and_unlock();
  sched::wake_all(threads);
  return was_pending;
}

// --- what chan_core asks of a timer's channel ---

// As receive_now(): the lock is released if the outcome is `done`. Waiters come first, but a plain thread need not wait
// for them.
chan_outcome chan_core::receive_tick(void* storage) noexcept {
  auto* self = static_cast<timer_chan*>(this);
  for (;;) {
    if (!self->is_settled()) self->settle();
    if (!timer_due()) return chan_outcome::would_block;
    if (Waiter* first = os::current_p() != nullptr ? self->serve_first() : nullptr) {
      lock_.unlock();
      sched::wake(first);
      lock_.lock();
    } else if (self->take_tick(storage)) {
      order_acquire(this);
      self->settle_and_unlock();
      return chan_outcome::done;
    }
  }
}

void chan_core::arm() noexcept {
  if (os::current_p() == nullptr) return;
  lock_.lock();
  static_cast<timer_chan*>(this)->settle_and_unlock();
}

void chan_core::leave_timer(Waiter& waiter) noexcept {
  lock_.lock();
  take_off(receivers_, waiter);
  static_cast<timer_chan*>(this)->settle_and_unlock();
}

chan_core* make_timer_chan(std::int64_t when_ns, std::int64_t period_ns) {
  static constexpr element_ops kTime{sizeof(std::int64_t), alignof(std::int64_t), nullptr, nullptr};
  api::ensure_started();
  return new timer_chan(kTime, when_ns, period_ns);
}
bool set_timer_chan(chan_core* channel, std::int64_t when_ns, std::int64_t period_ns) {
  return static_cast<timer_chan*>(channel)->change(when_ns, period_ns, true);
}
bool stop_timer_chan(chan_core* channel) { return static_cast<timer_chan*>(channel)->change(forever, 0, false); }

}  // namespace weft::detail
