// SPDX-License-Identifier: MIT
#pragma once
#include <signal.h>
#include <cstdint>

// The signal by which the runtime interrupts one of its threads (preempt.h, hold.h).
namespace weft::sched {

// Returns 0, or the error number.
int send_preempt_signal(int signal, std::int32_t thread) noexcept;
// True: sent by send_preempt_signal() with its mark, or by a thread's own timer (hold.h). Not by other code, and not by
// the fallback without a mark (tgkill), which preempt_signal.cc recognises.
bool is_preempt_signal(const siginfo_t& info) noexcept;

}  // namespace weft::sched
