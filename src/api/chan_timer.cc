// SPDX-License-Identifier: MIT
#include <cstring>

#include "api/chan_core.h"
#include "os/clock.h"
#include "weft/detail/clock.h"

// The channel of a timer or ticker: there is no element in it, and no entry in any heap. It has a time; who receives waits until then by a
// limit of its own (receive_later in chan_core.cc, select.cc) and takes the tick; who changes the time wakes those who wait for the old one.
namespace weft::detail {

using sched::Waiter;

void chan_core::set_timer(std::int64_t when_ns, std::int64_t period_ns) noexcept {
  state_.store_relaxed(kTimers);
  is_started_ = true;
  period_ns_ = period_ns;
  when_ns_.store_relaxed(when_ns);
}

bool chan_core::change_timer(std::int64_t when_ns, std::int64_t period_ns, bool start) noexcept {
  sched::WaitList woken;
  lock_.lock();
  const bool was_pending = is_started_;
  is_started_ = start;  // that it is a timer's does not change: selects read it without the lock
  period_ns_ = period_ns;
  when_ns_.store_relaxed(when_ns);
  while (Waiter* waiter = pop(receivers_)) {  // they wait for the old time
    waiter->retry = true;
    woken.push(*waiter);
  }
  lock_.unlock();
  while (Waiter* waiter = woken.front()) {
    woken.remove(*waiter);
    sched::wake(waiter);
  }
  return was_pending;
}

// The tick keeps its own time; those that nobody received meanwhile are dropped.
chan_outcome chan_core::take_tick(void* storage) noexcept {
  const std::int64_t when = when_ns_.load_relaxed(), now = os::now_ns();
  if (when > now) return chan_outcome::would_block;
  std::memcpy(storage, &when, sizeof when);
  std::int64_t next = os::kForever;
  if (period_ns_ > 0) {
    const std::int64_t periods = (now - when) / period_ns_ + 1;
    if (__builtin_mul_overflow(periods, period_ns_, &next) || __builtin_add_overflow(when, next, &next))
      next = os::kForever;
  }
  when_ns_.store_relaxed(next);
  is_started_ = period_ns_ > 0;
  lock_.unlock();
  return chan_outcome::done;
}

chan_core* make_timer_chan(std::int64_t when_ns, std::int64_t period_ns) {
  static constexpr element_ops kTime{sizeof(std::int64_t), alignof(std::int64_t), nullptr, nullptr};
  chan_core* channel = make_chan(0, kTime);
  channel->set_timer(when_ns, period_ns);
  return channel;
}
bool set_timer_chan(chan_core* channel, std::int64_t when_ns, std::int64_t period_ns) {
  return channel->change_timer(when_ns, period_ns, true);
}
bool stop_timer_chan(chan_core* channel) { return channel->change_timer(forever, 0, false); }

}  // namespace weft::detail
