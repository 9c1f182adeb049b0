// SPDX-License-Identifier: MIT
#pragma once
#include "os/clock.h"
#include "sched/state/scheduler.h"

// A P that has retreated stays apart for a while (core/retreat.h).
namespace weft::sched {

// Owner of p. True: p takes no work from other Ps for now. Never true while every other P is idle.
inline bool keeps_apart(const Processor& p) noexcept {
  if (WEFT_LIKELY(p.retreat.was_never_on())) return false;
  return scheduler.idle.look().idle() + 1 < maxprocs() && p.retreat.is_on(os::now_ns());
}

// Any thread. True: p offers work, and its runs are so long that one meeting in each would cost no more than is allowed
// (sharing_meter.h).
inline bool outweighs_sharing(const Processor& p) noexcept {
  constexpr std::uint32_t kLongRunNs = SharingMeter::kMeetingNs * SharingMeter::kMostLost;
  return p.average_ns.load_relaxed() >= kLongRunNs && policy().load(p).offered > 0;
}

}  // namespace weft::sched
