// SPDX-License-Identifier: MIT
#pragma once
#include "os/clock.h"
#include "sched/state/scheduler.h"

// A P that has retreated keeps apart for a while (core/retreat.h).
namespace weft::sched {

// Owner of p: it leaves the others' work alone for now. Never while no other P is busy.
inline bool keeps_apart(const Processor& p) noexcept {
  if (WEFT_LIKELY(p.retreat.was_never_on())) return false;
  return scheduler.idle.look().idle() + 1 < maxprocs() && p.retreat.is_on(os::now_ns());
}

// Anybody: p has work that runs for so long that sharing need not cost much.
inline bool outweighs_sharing(const Processor& p) noexcept {
  constexpr std::uint32_t kLongRunNs = SharingMeter::kMeetingNs * SharingMeter::kMostLost;
  return p.average_ns.load_relaxed() >= kLongRunNs && policy().load(p).offered > 0;
}

}  // namespace weft::sched
