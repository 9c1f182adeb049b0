// SPDX-License-Identifier: MIT
#pragma once
#include "api/chan_core.h"
#include "sched/timer/timer_heap.h"

// The channel of a timer or ticker.
//   Job        It has a time (when_ns_) instead of elements: a tick is there from then on until it is received. While
//              goroutines wait, the channel has an entry in a timer heap. The heap serves the first of them when the
//              time has come: a tick wakes one.
//   Invariants T1 A goroutine waits and the time is not for ever => the entry's time (armed_ns_) is not later. Earlier
//                 is fine: the callback looks, and puts the entry where it belongs.
//              T2 There are no waiters => there is no entry. So an unused timer costs nothing, and hides no deadlock.
//              Both hold whenever the lock is free and is_arming_ is false.
//              T3 A tick is received once: by the waiter that is popped under the same lock, or by a caller that finds
//                 no waiters. A waiter that was decided elsewhere (select, time limit) is dropped by pop(), and the
//                 tick goes to the next.
//   Arming     The callback runs under the heap's lock and takes the channel's. So the entry is changed with the
//              channel's lock free, by one thread at a time (is_arming_), which looks again under the lock until T1 and
//              T2 hold. Other threads leave it to that one, because what they changed, they changed under the lock,
//              before it looks. The callback, which only comes while there is an entry, may put it back all the same;
//              then stop_timer() takes it off. armed_ns_ is exact, because stop_timer() returns when no callback runs,
//              and a new entry is made only after that.
//   Lifetime   A thread that arms counts as a stray of the channel (chan_core.h). When the channel ends there is no
//              entry (T2), and no callback that could still use it: after the callback's last access armed_ns_ says so,
//              or stop_timer() has waited for it.
//   Threads    Plain threads, and goroutines without a P, do not wait for the heap, which needs an M: destructors at
//              the exit and forked children have none. They all wake up at the time by themselves, and take the tick
//              out of turn. A thread that changes the time wakes them.
//   Rejected   An entry for each waiter: each tick woke all of them, one got it (256 waiters: 256 switches a tick).
//              Only the first waiter with an entry: a second switch for each tick, to make the next one the first.
//   Model      tests/model/api/ticker_test.cc explores chan_timer.cc.
namespace weft::detail {

class timer_chan final : public chan_core, private sched::Timer {
 public:
  timer_chan(const element_ops& ops, std::int64_t when, std::int64_t period) noexcept;

  // True: the timer was started, and its value had not been received yet.
  bool change(std::int64_t when, std::int64_t period, bool start) noexcept;

 private:
  friend class chan_core;

  static void fire(sched::Timer* due) noexcept;

  // With the lock held.
  bool take_tick(void* storage) noexcept;
  sched::Waiter* serve_first() noexcept;
  std::int64_t wanted_ns() const noexcept { return receivers_.empty() ? os::kForever : when_ns_.load_relaxed(); }
  bool is_settled() const noexcept {
    return wanted_ns() == os::kForever ? armed_ns_ == os::kForever : armed_ns_ <= wanted_ns();
  }
  void settle() noexcept;  // releases the lock meanwhile
  void settle_and_unlock() noexcept;
  void take_threads(sched::WaitList& taken) noexcept;

  std::int64_t armed_ns_ = os::kForever;  // for ever: no entry
  bool is_arming_ = false;
};

}  // namespace weft::detail
