// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// A timer that signals the thread that has set it. It may be set in a signal handler, because it uses raw system calls
// only: the C library's functions allocate.
namespace weft::os {

inline constexpr int kNoTimer = -1;

// This thread gets the signal once, after that time, with `value` and SI_TIMER. `timer`: the result of the last call,
// which keeps its signal and value, or kNoTimer. Returns the timer; kNoTimer: the kernel has none left.
int signal_self_after(std::int64_t delay_ns, int timer, int signal, void* value) noexcept;
void delete_timer(int timer) noexcept;  // does nothing for kNoTimer

}  // namespace weft::os
