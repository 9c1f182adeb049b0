// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"
#include "os/clock.h"
#include "os/current.h"
#include "sched/model/goroutine.h"
#include "sched/timer/timer_heap.h"

// How a test takes control of goroutines (policy/controlled.h, api/testing/).
//   Controlled  A goroutine with habits.controlled runs when the test's oracle says so, reads a virtual clock, and
//               leaves its timers to the bubble's own heap. What it starts is controlled as well (SpawnExtra).
//   Points      Operations call point() before they begin, and checks in user code call check_point(). The oracle may
//               let another goroutine go on there.
//   Cost        Nothing on the hot paths: mutex::lock compares with a byte of the G in place of a constant, the locks
//               of channels that are made in a bubble always take the slow path (biased_lock.h), and other operations
//               read `control`.
namespace weft::sched {

// The value of habits.controlled. No state of a mutex is 255, so a controlled goroutine never takes its fast path.
inline constexpr std::uint8_t kControlled = 255;

// Virtual times are later than all real ones (36 years after the boot). So one comparison tells them apart, and no
// timer of a bubble is ever due by the real clock.
inline constexpr std::int64_t kVirtualFromNs = os::kVirtualFromNs;

struct Control {
  void (*point)() noexcept;                               // may switch
  void (*check_point)() noexcept;                         // may switch; at a check of user code
  std::uint32_t (*choose)(std::uint32_t bound) noexcept;  // 0 to bound - 1
  std::int64_t (*now_ns)() noexcept;                      // the virtual clock
  void (*die)(const char* how) noexcept;  // the goroutine cannot go on: does not return if it is controlled
  void (*admit)(Goroutine* g) noexcept;   // a plain thread has woken a controlled goroutine
  TimerHeap* timers;
};
// Null: no bubble is running.
inline constinit base::Atom<const Control*> control{nullptr};

inline bool is_controlled(const Goroutine* g) noexcept { return g != nullptr && g->habits.controlled != 0; }

// The control over the calling goroutine; null: it is not controlled.
inline const Control* own_control() noexcept {
  const Control* active = control.load_acquire();  // pairs: control
  return WEFT_UNLIKELY(active != nullptr) && is_controlled(os::current_g()) ? active : nullptr;
}

// May switch. The calling goroutine is about to do something that others can see.
inline void point() noexcept {
  if (const Control* own = own_control()) own->point();
}

// The calling goroutine's clock.
inline std::int64_t caller_now_ns() noexcept {
  const Control* own = own_control();
  return own != nullptr ? own->now_ns() : os::now_ns();
}

// Where a timer belongs that the caller would put into `usual`.
inline TimerHeap& heap_for(std::int64_t when_ns, TimerHeap& usual) noexcept {
  if (when_ns < kVirtualFromNs) return usual;
  const Control* active = control.load_acquire();  // pairs: control
  return active != nullptr ? *active->timers : usual;
}

// The lock of a channel that is made in a bubble: each use of it is a point.
template <class Lock>
void control_lock(Lock& lock) noexcept {
  if (own_control() != nullptr) lock.always_lock_slowly();
}

}  // namespace weft::sched
