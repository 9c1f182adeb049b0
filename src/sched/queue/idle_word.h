// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"
#include "base/cache_line.h"

// Idle processors and spinners in one word.
//   Job         A lock-free stack of idle Ps (it replaces mcpu/mcpumax of Go's first scheduler). The number of idle Ps
//               and the number of spinning Ms change together with it: "is a P idle while no M spins?" is one load,
//               "take it" is one CAS.
//   Layout      bits 0-10   head of the stack + 1 (0: empty)
//               bits 11-21  number of idle Ps
//               bits 22-32  number of spinning Ms
//               bit  33     passive: the last spinner sleeps
//               bit  34     suppressed: it sleeps because its steals proved worthless
//               bits 35-63  version (against ABA)
//   Invariants  W1 spinning <= maxprocs.
//               W2 The last spinner leaves only with work it found, or by a CAS that shows every other P idle. So
//                  beside a busy P there is a spinner, or no P is idle. The putter relies on that: a thread that puts
//                  work where only its own P finds it at once needs no fence and wakes no other thread.
//                  Exception: a P whose M went into a call may become idle without a spinner. sysmon covers that
//                  (sysmon.cc, look_at_slot).
//   Orders      All changes are seq_cst:
//               submit {publish work; full fence; load} -- retire {change; full fence; rescan}.
namespace weft::sched {

inline constexpr std::uint32_t kMaxProcessors = 1024;

struct IdleView {
  std::uint64_t bits;

  static constexpr std::uint64_t kHeadMask = (1ull << 11) - 1;
  static constexpr int kIdleShift = 11, kSpinShift = 22, kVersionShift = 35;
  static constexpr std::uint64_t kFieldMask = (1ull << 11) - 1;
  static constexpr std::uint64_t kPassive = 1ull << 33, kSuppressed = 1ull << 34;
  static constexpr std::uint64_t kOneIdle = 1ull << kIdleShift, kOneSpin = 1ull << kSpinShift,
                                 kOneVersion = 1ull << kVersionShift;

  // No P is idle and no M spins: the common case under load, found by one test.
  constexpr bool quiet() const noexcept { return (bits & (kOneVersion - 1)) == 0; }
  constexpr std::uint32_t idle() const noexcept { return static_cast<std::uint32_t>((bits >> kIdleShift) & kFieldMask); }
  constexpr std::uint32_t spinning() const noexcept { return static_cast<std::uint32_t>((bits >> kSpinShift) & kFieldMask); }
  constexpr bool passive() const noexcept { return (bits & kPassive) != 0; }
  constexpr bool suppressed() const noexcept { return (bits & kSuppressed) != 0; }
  std::int32_t head() const noexcept { return static_cast<std::int32_t>(bits & kHeadMask) - 1; }
};

template <class Atomics = base::StdAtomics, std::uint32_t Limit = kMaxProcessors>
class IdleWord {
 public:
  static constexpr std::int32_t kNone = -1;

  // A relaxed load: a hint for callers that have published nothing, or that have just executed a full fence.
  IdleView look() const noexcept { return {word_.load_relaxed()}; }

  // Takes an idle P and counts its future M as a spinner, unless an M spins already (A30: one spinner suffices). kNone:
  // no M need be woken.
  std::int32_t pop_for_new_spinner() noexcept {
    return pop([](IdleView view) { return view.idle() > 0 && view.spinning() == 0; }, IdleView::kOneSpin);
  }
  // Takes an idle P for an M that has something to run. kNone: no P is idle.
  std::int32_t pop() noexcept {
    return pop([](IdleView view) { return view.idle() > 0; }, 0);
  }
  // Takes an idle P for an M that goes on looking for work as a spinner.
  std::int32_t pop_spinning() noexcept {
    return pop([](IdleView view) { return view.idle() > 0; }, IdleView::kOneSpin);
  }

  // The caller owns P `index` and gives it up. With `spinning` it also stops being a spinner. False: refused, because
  // it is the last spinner and another P is busy (W2).
  bool push(std::uint32_t index, bool spinning, std::uint32_t maxprocs) noexcept {
    std::uint64_t bits = word_.load_relaxed();  // the CAS validates it
    for (;;) {
      const IdleView view{bits};
      if (spinning && view.spinning() == 1 && view.idle() + 1 < maxprocs) return false;
      next_[index].store_relaxed(static_cast<std::uint32_t>(bits & IdleView::kHeadMask));  // published by the CAS
      const std::uint64_t desired = ((bits & ~IdleView::kHeadMask) | (index + 1)) + IdleView::kOneIdle +
                                    IdleView::kOneVersion - (spinning ? IdleView::kOneSpin : 0);
      if (word_.cas_seq_cst(bits, desired)) return true;  // pairs: idle.word
    }
  }

  // Keeps W1 by a tighter bound: false when half or more of the Ps that are not idle spin already. With maxprocs 1 no M
  // spins.
  bool try_start_spinning(std::uint32_t maxprocs) noexcept {
    std::uint64_t bits = word_.load_relaxed();  // the CAS validates it
    for (;;) {
      const IdleView view{bits};
      if (2 * view.spinning() >= maxprocs - view.idle() || maxprocs == 1) return false;
      if (word_.cas_seq_cst(bits, bits + IdleView::kOneSpin)) return true;  // pairs: idle.word
    }
  }
  // Returns the state before. By it the caller sees whether it was the last spinner while a P is idle: then it wakes
  // another spinner (A22: replace last spinner).
  IdleView stop_spinning() noexcept { return {word_.fetch_add_seq_cst(0 - IdleView::kOneSpin)}; }  // pairs: idle.word

  IdleView set_passive(bool suppressed) noexcept {
    return {word_.fetch_or_seq_cst(IdleView::kPassive | (suppressed ? IdleView::kSuppressed : 0))};  // pairs: idle.word
  }
  void lift_suppression() noexcept { word_.fetch_and_seq_cst(~IdleView::kSuppressed); }  // pairs: idle.word
  // True: this call cleared the mark, so its caller wakes the passive spinner, or is that spinner. At most one caller
  // gets true for each set_passive().
  bool clear_passive() noexcept {
    constexpr std::uint64_t kBoth = IdleView::kPassive | IdleView::kSuppressed;
    return IdleView{word_.fetch_and_seq_cst(~kBoth)}.passive();  // pairs: idle.word
  }

 private:
  template <class Condition>
  std::int32_t pop(Condition condition, std::uint64_t extra) noexcept {
    std::uint64_t bits = word_.load_seq_cst();  // pairs: idle.word
    for (;;) {
      const IdleView view{bits};
      if (!condition(view)) return kNone;
      const auto index = static_cast<std::uint32_t>(view.head());
      const std::uint32_t next = next_[index].load_relaxed();  // stale only if the version moved: then the CAS fails
      const std::uint64_t desired =
          ((bits & ~IdleView::kHeadMask) | next) - IdleView::kOneIdle + IdleView::kOneVersion + extra;
      if (word_.cas_seq_cst(bits, desired)) return static_cast<std::int32_t>(index);  // pairs: idle.word
    }
  }

  template <class U>
  using Atom = typename Atomics::template atom<U>;

  alignas(base::kCacheLine) Atom<std::uint64_t> word_{0};
  alignas(base::kCacheLine) Atom<std::uint32_t> next_[Limit];
};

}  // namespace weft::sched
