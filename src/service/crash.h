// SPDX-License-Identifier: MIT
#pragma once

// Reports of how a goroutine ended the process: stack overflow, memory fault, uncaught exception; SIGQUIT.
//   Handlers   run on alternate stacks; whatever was installed before is called afterwards, or the default action taken.
namespace weft::sched {
struct Goroutine;
}

namespace weft::service {

// `on_quit` (async-signal-safe) is called for SIGQUIT, unless the program has a handler for it, or changes what is done with it later.
void install_crash_reports(void (*on_quit)());

// A check found that the goroutine's stack does not suffice. The caller ends the process.
void report_overflow(const sched::Goroutine* g, const void* address);

// For whoever exits: while another thread is reporting how it ends the process, that is the end that counts.
void let_report_end() noexcept;

}  // namespace weft::service
