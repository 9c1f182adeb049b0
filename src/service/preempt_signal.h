// SPDX-License-Identifier: MIT
#pragma once

// The signal that interrupts code without checks (sched/preempt.h).
//   Choice   the highest real-time signal that nobody handles and that can be sent, or the one asked for; handlers restart system calls.
//   Sending  is tried when the first goroutine has to be interrupted, not before: a debugger stops at every signal. A system
//            that refuses then (a seccomp filter) is told to the user, and the signal is given up.
namespace weft::service {

// `wanted` 0: choose. The signal, or 0 with a warning: no free one, or the one asked for is taken or not to be handled.
int install_preempt_signal(int wanted);

// The first signal could not be sent, and none will be.
void say_that_signal_is_refused(int signal, int error);

// On each thread of the runtime: threads take after who started them, who may have blocked all signals.
void allow_preempt_signal();

}  // namespace weft::service
