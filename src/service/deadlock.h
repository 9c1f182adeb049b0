// SPDX-License-Identifier: MIT
#pragma once

// Deadlock detection: no goroutine runs, and nothing can make one run.
//   When     Only with every P idle. Cheap conditions come first, then exact ones: timers, calls in progress, threads
//            outside the runtime (by counting the process's threads). So it stays on in programs with I/O and other
//            threads.
//   Result   a report that names every goroutine with its wait reason and stack, and exit status 2.
namespace weft::service {

// Called by the M that found all Ps idle, and from time to time by sysmon (a foreign thread may have ended since).
void check_for_deadlock();

// The number of threads the runtime itself has beside its Ms.
void set_helper_threads(int count);
void add_helper_thread();  // before it starts
void end_helper_thread();  // at its end

}  // namespace weft::service
