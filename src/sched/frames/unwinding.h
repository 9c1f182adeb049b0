// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"

// Walks of stacks and the end of the process. In a statically linked program the unwinder finds frames by a table that exit()
// takes away from it, and aborts when it is asked afterwards. Goroutines with a P are stopped by then; one that lost its P and
// computes on is not, and walks its stack at its next check.
//   Rule      whoever walks counts itself in; who comes after the end of all walks does without. Whoever ends them waits for
//             those that are under way.
//   Protocol  one word, the count and the bit that ends: a walker that has not seen the bit is in the count that the one who
//             set it waits for. Its release (it walks no more) pairs with the load that finds the count at 0 (pairs: unwinding).
//   Rejected  the flag `exiting`: it is set before goroutines with a P are asked to stop, and they walk to do so. Looking at a
//             flag only: exit() may begin between the look and the walk.
namespace weft::sched {

class Unwinding {
 public:
  Unwinding() noexcept : allowed_(!(walks_.fetch_add_acq_rel(1) & kEnded)) {}  // pairs: unwinding
  ~Unwinding() { walks_.fetch_sub_release(1); }                                // pairs: unwinding
  Unwinding(const Unwinding&) = delete;
  bool allowed() const noexcept { return allowed_; }

  static bool ended() noexcept { return (walks_.load_relaxed() & kEnded) != 0; }
  // For good; returns when nobody walks any more, or at the deadline.
  static void end(std::int64_t deadline_ns) noexcept;

 private:
  static constexpr std::uint32_t kEnded = 1u << 31;
  static inline base::Atom<std::uint32_t> walks_{0};
  const bool allowed_;
};

}  // namespace weft::sched
