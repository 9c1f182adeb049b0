// SPDX-License-Identifier: MIT
#pragma once

// The signal that interrupts code without checks (sched/core/preempt.h).
//   Choice   The highest real-time signal below SIGRTMAX that has no handler and can be sent, or the one asked for.
//            Handlers restart system calls.
//   Sending  is tried when the first goroutine has to be interrupted, not before, because a debugger stops at every
//            signal. If the system refuses then (a seccomp filter), the user is told, and the signal is given up.
namespace weft::service {

// `wanted` 0: choose one. Returns the signal. 0, with a warning: no signal is free, or the wanted one cannot be handled
// or sent.
int install_preempt_signal(int wanted);

// The first signal could not be sent, and none will be.
void say_that_signal_is_refused(int signal, int error);

// On each thread of the runtime, because a thread inherits the signal mask of its starter, which may block all signals.
void allow_preempt_signal();

}  // namespace weft::service
