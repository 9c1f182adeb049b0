// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"

// Walks of stacks and the end of the process. In a statically linked program the unwinder finds frames by a table.
// exit() takes that table away, and the unwinder aborts if it is asked afterwards. Goroutines with a P are stopped by
// then. An exile, which lost its P and computes on, is not stopped, and walks its stack at its next check.
//   Rule      A walker counts itself in before it walks. After the end of all walks it does not walk. The thread that
//             ends them waits for the walks that are under way.
//   Protocol  One word holds the count of walkers and the bit kEnded. A walker that has not seen the bit is in the
//             count that the ending thread waits for. The walker's release when its walk is over pairs with the load
//             that finds the count at 0 (pairs: unwinding).
//   Rejected  The flag `exiting`: it is set before goroutines with a P are asked to stop, and they walk in order to
//             stop. A flag without a count: exit() may begin between a walker's look at the flag and its walk.
namespace weft::sched {

class Unwinding {
 public:
  Unwinding() noexcept : allowed_(!(walks_.fetch_add_acq_rel(1) & kEnded)) {}  // pairs: unwinding
  ~Unwinding() { walks_.fetch_sub_release(1); }                                // pairs: unwinding
  Unwinding(const Unwinding&) = delete;
  bool allowed() const noexcept { return allowed_; }

  static bool ended() noexcept { return (walks_.load_relaxed() & kEnded) != 0; }
  // Ends all walks for good. Returns when the last walk is over, or at the deadline.
  static void end(std::int64_t deadline_ns) noexcept;

 private:
  static constexpr std::uint32_t kEnded = 1u << 31;
  static inline base::Atom<std::uint32_t> walks_{0};
  const bool allowed_;
};

}  // namespace weft::sched
