// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// A timer that signals the thread which has set it, and may be set in a handler: system calls only, the C library's
// functions allocate.
namespace weft::os {

inline constexpr int kNoTimer = -1;

// This thread gets the signal, with `value` and SI_TIMER, once, after that time. `timer`: of the last call, or
// kNoTimer. Returns the timer; kNoTimer: the kernel has none left.
int signal_self_after(std::int64_t delay_ns, int timer, int signal, void* value) noexcept;
void delete_timer(int timer) noexcept;  // nothing for kNoTimer

}  // namespace weft::os
