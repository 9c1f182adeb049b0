// SPDX-License-Identifier: MIT
#pragma once

// In place of sched/core/retreat.h: where goroutines run is of no interest here.
namespace weft::sched {

inline void note_meeting() noexcept {}

}  // namespace weft::sched
