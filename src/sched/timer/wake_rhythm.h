// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"
#include "os/futex.h"

namespace weft::sched {

// Notices when an M is woken for timers at regular intervals, as by a ticker. Then it predicts the wake-up after the
// next (os/early_timer.h).
//   Threads  any. If two use it at once, the rhythm may be lost for a while.
class WakeRhythm {
 public:
  static constexpr std::int64_t kNever = os::kForever;
  static constexpr std::int64_t kCloseNs = 2'000;         // intervals that differ by less are the same
  static constexpr std::int64_t kLongestNs = 20'000'000;  // in longer sleeps the cost of a wake-up does not matter

  // An M is about to sleep until at_ns. Returns when the sleep after that will end. kNever: the sleeps are not regular.
  std::int64_t after(std::int64_t at_ns) noexcept {
    const std::int64_t interval = at_ns - at_ns_.load_relaxed();
    if (interval != 0) {  // else an M that was woken for another reason goes on with the same sleep
      const std::int64_t change = interval - interval_.load_relaxed();
      regular_.store_relaxed(interval > 0 && interval <= kLongestNs && change > -kCloseNs && change < kCloseNs);
      interval_.store_relaxed(interval);
      at_ns_.store_relaxed(at_ns);
    }
    return regular_.load_relaxed() ? at_ns + interval_.load_relaxed() : kNever;
  }

 private:
  base::Atom<std::int64_t> at_ns_{0}, interval_{0};
  base::Atom<bool> regular_{false};
};

}  // namespace weft::sched
