// SPDX-License-Identifier: MIT
#include "sched/timer/wake_plan.h"

#include <algorithm>

namespace weft::sched {

TimerWake WakePlan::make() noexcept {
  if (is_crowd_) {  // multiples of the interval: they do not depend on which timer is first
    const std::int64_t at_ns = (first_ns_ / kCrowdNs + 1) * kCrowdNs;
    return {at_ns, at_ns - kWindowNs, at_ns + kCrowdNs};
  }
  std::sort(when_, when_ + size_);
  if (size_ == 0) return {first_ns_, first_ns_, kNever};  // the timers were stopped or run meanwhile
  const std::uint32_t last = last_together(0), next = last + 1;
  const bool known = next < size_ && when_[next] + kWindowNs <= until_ns();
  return {when_[last], last == 0 ? when_[0] : when_[last] - kWindowNs, known ? when_[last_together(next)] : kNever};
}

// The index of the timer at which the wake-up that serves `first` takes place.
std::uint32_t WakePlan::last_together(std::uint32_t first) const noexcept {
  std::uint32_t best = first, most = 0, end = first;
  for (std::uint32_t close = first; end < size_ && when_[end] - when_[first] <= kWindowNs; ++end) {
    while (when_[end] - when_[close] > kCloseNs) ++close;
    const std::uint32_t in_time = end - close + 1, all = end - first + 1;
    if (2 * in_time + all < most) continue;
    most = 2 * in_time + all;
    best = end;
  }
  return end - first < kFewest ? first : best;
}

}  // namespace weft::sched
