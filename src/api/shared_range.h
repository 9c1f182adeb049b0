// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"

// The lock-free parts of parallel_for (api/parallel.cc).
namespace weft::detail {

// The part of a range that one worker has to run and has not begun: units [low, high). The worker takes from its low
// end, thieves take the upper half.
//   Invariant  The word is the whole state, so a CAS that succeeds takes exactly what it has read. Each unit is taken
//              out of a range once, by a piece that is run or by a thief, who puts it into its own empty range.
//   Orders     All relaxed: a unit is only a number. What f reads was written before the worker's goroutine was
//              started, and what it wrote is published by the gate.
//   Empty      Only the owner puts units in, and only into an empty range, with a plain store: thieves leave an empty
//              word alone.
template <class Atomics = base::StdAtomics>
class SharedRange {
 public:
  struct Units {
    std::uint32_t low = 0, high = 0;
    std::uint32_t count() const noexcept { return high - low; }
  };

  void put(Units units) noexcept { word_.store_relaxed(pack(units)); }

  // Owner: takes how_many(left) units, which is from 1 to left. Empty: nothing is left.
  template <class HowMany>
  Units take(HowMany how_many) noexcept {
    std::uint64_t word = word_.load_relaxed();
    for (;;) {
      const Units all = unpack(word);
      if (all.count() == 0) return {};
      const Units taken{all.low, all.low + how_many(all.count())};
      if (word_.cas_relaxed(word, pack({taken.high, all.high}))) return taken;
    }
  }
  // Thief: takes the upper half, rounded up. Empty: nothing is left.
  Units take_half() noexcept {
    std::uint64_t word = word_.load_relaxed();
    for (;;) {
      const Units all = unpack(word);
      if (all.count() == 0) return {};
      const std::uint32_t middle = all.low + all.count() / 2;
      if (word_.cas_relaxed(word, pack({all.low, middle}))) return {middle, all.high};
    }
  }

 private:
  static std::uint64_t pack(Units units) noexcept { return std::uint64_t{units.high} << 32 | units.low; }
  static Units unpack(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
  }
  typename Atomics::template atom<std::uint64_t> word_{0};
};

// Who works for a call: its caller from the beginning, and helpers that come in time.
//   Invariant  Once the count is 0 it stays 0: a helper that comes later finds the call over, and touches nothing of it.
//              So the caller need not wait for goroutines that have not begun.
//   Orders     leave() releases and acquires: the member that brings the count to 0 has what all others did before they
//              left, and hands it to the caller.
//   Rejected   A wait group of all helpers: a helper may sit in a queue behind others for long.
template <class Atomics = base::StdAtomics>
class WorkGate {
 public:
  bool enter() noexcept {
    std::uint32_t members = members_.load_relaxed();
    while (members != 0)
      if (members_.cas_relaxed(members, members + 1)) return true;
    return false;
  }
  // True: the caller of leave() was the last.
  bool leave() noexcept { return members_.fetch_sub_acq_rel(1) == 1; }  // pairs: parallel.gate (self)

 private:
  typename Atomics::template atom<std::uint32_t> members_{1};
};

}  // namespace weft::detail
