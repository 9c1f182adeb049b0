// SPDX-License-Identifier: MIT
#pragma once

// Reports of how a goroutine ended the process: stack overflow, memory fault, uncaught exception. Also SIGQUIT.
//   Handlers   run on alternate stacks. Afterwards the handler that was installed before is called, or the default
//              action is taken.
namespace weft::sched {
struct Goroutine;
}

namespace weft::service {

// `on_quit` (async-signal-safe) is called for SIGQUIT, unless the program has a handler for it or installs one later.
void install_crash_reports(void (*on_quit)());

// Calls on_dump in the handler of that signal. False: the program handles it already, or it cannot be handled.
bool dump_on_signal(int signal, void (*on_dump)());

// A check found that the goroutine's stack does not suffice. The caller ends the process.
void report_overflow(const sched::Goroutine* g, const void* address);

// For a thread that exits: if another thread is reporting how it ends the process, waits for that end.
void let_report_end() noexcept;

}  // namespace weft::service
