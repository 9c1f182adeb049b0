// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/check.h"

// Who runs next on a P ("runnext"): filled and emptied by the P's owner at each wake-up and switch, robbed by thieves when its P does not come to it.
//   Why         an exchange takes 5 to 9 ns, and was the last locked operation of a switch: ping-pong 15 % less without, a prime sieve 20 %.
//   Two ways    a slot is open, and everybody takes by exchange; or closed, and the owner takes by plain loads and stores, inside its window (taking_).
//               A thief that finds it closed opens it first: writes open_, passes a heavy fence, waits until the window is shut. The owner writes
//               taking_, then reads open_: one sees the other. Its side needs no fence, for the heavy one is a barrier in every thread.
//   Invariants  N1 only the owner fills it; thieves put nothing in.
//               N2 open_ changes under gate_: a thief has it from its look at open_ to its exchange, the owner while it closes the slot. So no
//               exchange of a thief falls into a window that saw the slot closed: the one that opened it has waited for that window, and
//               later ones have seen open_, which the owner reads too from that barrier on.
//   Owner       changes with the P, whose hand-over is an acquire of all that the one before did; no thread loses its P inside the window.
//   Progress    a thief waits for a few instructions, of a thread that waits for nothing in them, and gives up if that thread has lost its CPU; for
//               other thieves it does not wait at all.
//   Closing     after kCalm takes without a thief, if the pace of barriers allows (paced_barrier.h): slots that are robbed often stay open.
//   Rejected    a CAS on an item with a version (as dear as the exchange); the window without gate_ (between a thief's look and its exchange the owner
//               could close the slot and take plainly what the thief exchanges).
//   Model       tests/model/next_slot_test.cc explores this file (but for the window's release: there, stores of one thread never change places);
//               stress: next_slot_test.cc.
namespace weft::sched {

// T is null when made of nothing. Fences: PacedBarrier, or a model's.
template <class Atomics, class T, class Fences>
class NextSlot {
 public:
  // Anybody.
  T look() const noexcept { return item_.load_relaxed(); }
  bool is_open() const noexcept { return open_.load_relaxed(); }

  // --- owner ---
  // Into an empty one.
  void put(T item) noexcept { item_.store_release(item); }             // pairs: slot.item
  T replace(T item) noexcept { return item_.exchange_acq_rel(item); }  // pairs: slot.item
  __attribute__((always_inline)) T take() noexcept {
    const T item = item_.load_relaxed();
    if (!item) return item;  // N1
    taking_.store_relaxed(true);
    Fences::light_fence();
    if (WEFT_UNLIKELY(open_.load_relaxed())) return take_open();
    item_.store_relaxed(T());      // N2: it was closed before, too, since we closed it: the item is still there
    taking_.store_release(false);  // pairs: slot.window
    return item;
  }

  // --- thieves ---
  // `still_wanted` is asked when the slot is open: that may have taken a while.
  template <class Condition>
  T rob(Condition still_wanted) noexcept {
    if (gate_.exchange_acquire(true)) return T();  // another thief is at it; pairs: slot.gate
    const T robbed = open() && still_wanted() ? item_.exchange_acq_rel(T()) : T();  // pairs: slot.item
    if (robbed) calm_.store_relaxed(0);
    gate_.store_release(false);  // pairs: slot.gate
    return robbed;
  }

 private:
  __attribute__((noinline)) T take_open() noexcept {
    taking_.store_release(false);  // a thief that sees this one has seen the window before it, too; pairs: slot.window
    const T item = item_.exchange_acq_rel(T());  // pairs: slot.item
    const auto calm =
        static_cast<std::uint8_t>(calm_.load_relaxed() + 1);  // a thief's 0 may get lost: then it closes too early
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

  // With gate_. False: the owner has lost its CPU inside its window, so nothing was changed.
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
  Atom<std::uint8_t> calm_{0};  // the owner's: takes since it was last robbed
};

}  // namespace weft::sched
