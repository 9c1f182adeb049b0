// SPDX-License-Identifier: MIT
#pragma once
#include <unistd.h>
#include <weft/weft.h>

#include <chrono>

#include "support/sanitizers.h"

// Waiting for conditions, and judging durations on a machine that others use too.
namespace weft::test {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Until the condition holds; false: it did not within the limit. For goroutines and plain threads.
template <class Condition>
[[nodiscard]] bool spin_until(Condition condition, Clock::duration limit = 10s) {
  const auto end = Clock::now() + limit * kSlowdown;
  for (int round = 0; !condition(); ++round) {
    if (Clock::now() > end) return condition();
    if (round < 100) {
      this_goroutine::yield();
    } else {
      this_goroutine::sleep_for(100us);
    }
  }
  return true;
}

// A timing case: body(unit) says whether what it measured is as promised for that unit of time. On a noisy machine it may
// need a longer one; never for safety.
template <class Body>
[[nodiscard]] bool holds_in_time(Clock::duration unit, Body body, int attempts = 4) {
  for (int attempt = 0; attempt < attempts; ++attempt, unit *= 2)
    if (body(unit)) return true;
  return false;
}

class Stopwatch {
 public:
  Clock::duration elapsed() const { return Clock::now() - start_; }
  double seconds() const { return std::chrono::duration<double>(elapsed()).count(); }

 private:
  Clock::time_point start_ = Clock::now();
};

// Work the compiler cannot remove and that calls nothing.
inline void compute_for(Clock::duration duration) {
  const auto end = Clock::now() + duration;
  while (Clock::now() < end) {
  }
}

}  // namespace weft::test
