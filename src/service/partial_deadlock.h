// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// Goroutines that wait for each other's locks or ends while others go on. (That nothing at all can go on is deadlock.h.)
//   Look     A walk over all goroutines, without stopping anything, for those that have waited for a lock, a join or a
//            once_flag in the same place since the look before. Only if one of them is new, the world stops, and their
//            holders are followed. So a program without long waits for locks is never stopped.
//   Cost     One cache line of each goroutine, at most once in kPeriodNs, and never more than one part in a thousand
//            of the time.
//   Report   Each cycle once, on standard error. A cycle may end by itself if a goroutine outside of it unlocks for a
//            member (a mutex allows that); so it is no fatal error unless it is asked for.
//   Not seen Wait groups and channels have no holder.
namespace weft::service {

void make_partial_deadlocks_fatal();

// Only sysmon calls it, at each of its looks.
void look_for_partial_deadlocks(std::int64_t now_ns);

}  // namespace weft::service
