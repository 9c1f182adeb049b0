// SPDX-License-Identifier: MIT
#pragma once
#include "sched/model/goroutine.h"
#include "sched/model/machine.h"

// State that the C and C++ libraries keep for each thread, but that belongs to the goroutine: errno, and the exceptions
// that it is handling.
namespace weft::sched {

inline void save_thread_state(Goroutine* g, const Machine& m) noexcept {
  g->saved_errno = *m.errno_address;
  g->caught_exceptions = m.exceptions->caught;
  g->uncaught_exceptions = m.exceptions->uncaught;
}
inline void restore_thread_state(const Goroutine* g, const Machine& m) noexcept {
  *m.errno_address = g->saved_errno;
  m.exceptions->caught = g->caught_exceptions;
  m.exceptions->uncaught = g->uncaught_exceptions;
}
inline void clear_thread_state(const Machine& m) noexcept {
  *m.errno_address = 0;
  m.exceptions->caught = nullptr;
  m.exceptions->uncaught = 0;
}

}  // namespace weft::sched
