// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/check.h"

// The P's "runs next" place (Go's runnext). The P's owner fills and empties it at each wake-up and switch. Thieves rob
// it when its P does not come to it.
//   Why         An exchange takes 5 to 9 ns, and was the last locked operation of a switch. Without it a ping-pong
//               takes 15 % less time, a prime sieve 20 %.
//   Two modes   Open: the owner and the thieves take the item by exchange. Closed: the owner takes it by plain loads
//               and stores, inside its window (the time during which taking_ is set).
//               A thief that finds the slot closed opens it first: it writes open_, passes a heavy fence, and waits
//               until the owner's window is shut. The owner writes taking_, then reads open_. So at least one of the
//               two sees the other. The owner needs no fence, because the heavy fence is a barrier in every thread.
//   Invariants  N1 Only the owner fills the slot. Thieves put nothing in.
//               N2 open_ changes only under gate_. A thief holds gate_ from its look at open_ to its exchange. The
//                  owner holds it while it closes the slot. So no thief's exchange falls into a window in which the
//                  owner saw the slot closed: the thief that opened the slot has waited for the end of that window.
//                  Later thieves found open_ set, and from that thief's barrier on the owner reads it as set, too.
//   Owner       changes when the P changes hands. The new owner's acquire of the P covers everything that the previous
//               owner did. No thread loses its P inside its window.
//   Progress    A thief waits for a few instructions of the owner, and the owner waits for nothing in them. The thief
//               gives up if the owner has lost its CPU. It never waits for other thieves.
//   Closing     after kCalm takes without a robbery, if the pace of barriers allows it (paced_barrier.h). So slots that
//               are robbed often stay open.
//   Rejected    a CAS on an item with a version: it costs as much as the exchange.
//               the window without gate_: between a thief's look and its exchange the owner could close the slot, and
//               take by plain loads and stores the item that the thief exchanges.
//   Model       tests/model/next_slot_test.cc explores this file. It cannot check that taking_ is cleared by a release,
//               because the model never reorders the stores of one thread. Stress: next_slot_test.cc.
namespace weft::sched {

// T() is the empty item. `Fences` is a PacedBarrier with kCalm and kPatience (SlotFences in model/processor.h), or a
// test's or a model's.
template <class Atomics, class T, class Fences>
class NextSlot {
 public:
  // Any thread.
  T look() const noexcept { return item_.load_relaxed(); }
  bool is_open() const noexcept { return open_.load_relaxed(); }

  // --- owner ---
  // The slot is empty.
  void put(T item) noexcept { item_.store_release(item); }             // pairs: slot.item
  T replace(T item) noexcept { return item_.exchange_acq_rel(item); }  // pairs: slot.item
  __attribute__((always_inline)) T take() noexcept {
    const T item = item_.load_relaxed();
    if (!item) return item;  // N1
    taking_.store_relaxed(true);
    Fences::light_fence();
    if (WEFT_UNLIKELY(open_.load_relaxed())) return take_open();
    // N2: only the owner closes the slot, so it was closed already when item_ was loaded: the item is still there. (A
    // thief that opened it and gave up has taken nothing.)
    item_.store_relaxed(T());
    taking_.store_release(false);  // pairs: slot.window
    return item;
  }

  // --- thieves ---
  // `still_wanted` is asked once the slot is open, because opening it may have taken a while.
  template <class Condition>
  T rob(Condition still_wanted) noexcept {
    if (gate_.exchange_acquire(true)) return T();  // another thief, or the owner, is at it; pairs: slot.gate
    const T robbed = open() && still_wanted() ? item_.exchange_acq_rel(T()) : T();  // pairs: slot.item
    if (robbed) calm_.store_relaxed(0);
    gate_.store_release(false);  // pairs: slot.gate
    return robbed;
  }

 private:
  __attribute__((noinline)) T take_open() noexcept {
    taking_.store_release(false);  // a thief that sees this store also sees the earlier windows; pairs: slot.window
    const T item = item_.exchange_acq_rel(T());  // pairs: slot.item
    const auto calm =
        static_cast<std::uint8_t>(calm_.load_relaxed() + 1);  // a thief's 0 may get lost: the slot closes too early
    calm_.store_relaxed(calm);
    if (WEFT_UNLIKELY(calm >= Fences::kCalm)) close();
    return item;
  }

  void close() noexcept {
    calm_.store_relaxed(0);
    if (!Fences::may_rely() || gate_.exchange_acquire(true)) return;  // pairs: slot.gate
    open_.store_relaxed(false);
    gate_.store_release(false);  // pairs: slot.gate
  }

  // The caller holds gate_. False: the owner has lost its CPU inside its window, so the slot was left closed.
  bool open() noexcept {
    if (open_.load_relaxed()) return true;
    open_.store_relaxed(true);
    Fences::heavy_fence();
    typename Fences::BackOff back_off;
    for (int waits = 0; taking_.load_acquire(); ++waits) {  // pairs: slot.window
      if (waits == Fences::kPatience) {
        open_.store_relaxed(false);
        return false;
      }
      back_off.wait();
    }
    return true;
  }

  template <class V>
  using Atom = typename Atomics::template atom<V>;

  Atom<T> item_{};
  Atom<bool> taking_{false};
  Atom<bool> open_{true};
  Atom<bool> gate_{false};
  Atom<std::uint8_t> calm_{0};  // the owner's: takes since the slot was last robbed
};

}  // namespace weft::sched
