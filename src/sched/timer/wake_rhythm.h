// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"
#include "os/futex.h"

namespace weft::sched {

// Sees whether somebody is woken at regular intervals, as a ticker makes it, and tells the next time but one then (os/early_timer.h).
//   Threads  any; of two at once the rhythm may be lost for a while.
class WakeRhythm {
 public:
  static constexpr std::int64_t kNever = os::kForever;
  static constexpr std::int64_t kCloseNs = 2'000;         // the same interval
  static constexpr std::int64_t kLongestNs = 20'000'000;  // where a wake-up's cost is nothing beside the sleep

  // Somebody sleeps until at_ns: until when after that? kNever: not regular.
  std::int64_t after(std::int64_t at_ns) noexcept {
    const std::int64_t interval = at_ns - at_ns_.load_relaxed();
    if (interval != 0) {  // else one that was woken for something else sleeps on
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
