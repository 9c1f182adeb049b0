// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// A meeting: the calling thread uses a lock that another M used last (rule/sharing_meter.h).
namespace weft::sched {

// The listener that is told of meetings (core/retreat.h). It is set before the first thread starts.
struct MeetingWatch {
  void (*met)() noexcept;
  void (*waited)(std::uint64_t since_ticks) noexcept;  // for another thread's lock
};
inline constinit const MeetingWatch* meeting_watch = nullptr;

inline void note_meeting() noexcept {
  if (meeting_watch != nullptr) meeting_watch->met();
}
inline void note_wait_for_lock(std::uint64_t since_ticks) noexcept {
  if (meeting_watch != nullptr) meeting_watch->waited(since_ticks);
}

}  // namespace weft::sched
