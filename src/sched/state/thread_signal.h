// SPDX-License-Identifier: MIT
#pragma once
#include <signal.h>
#include <cstdint>

// The signal by which the runtime interrupts one of its threads (preempt.h, hold.h).
namespace weft::sched {

// 0, or the error number.
int send_preempt_signal(int signal, std::int32_t thread) noexcept;
// Sent by that, or by a thread's own timer (hold.h), and not by a stranger.
bool is_preempt_signal(const siginfo_t& info) noexcept;

}  // namespace weft::sched
