// SPDX-License-Identifier: MIT
#pragma once
#include "os/clock.h"
#include "sched/timer/timer_heap.h"

// In the models the simulation decides what runs, so no goroutine is controlled.
namespace weft::sched {

struct Control {
  std::uint32_t choose(std::uint32_t) const { return 0; }
};
inline const Control* own_control() noexcept { return nullptr; }
inline void point() noexcept {}
inline std::int64_t caller_now_ns() { return os::now_ns(); }
inline TimerHeap& heap_for(std::int64_t, TimerHeap& usual) noexcept { return usual; }
template <class Lock>
void control_lock(Lock&) noexcept {}

}  // namespace weft::sched
