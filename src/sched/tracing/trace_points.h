// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "arch/cold_call.h"
#include "sched/state/scheduler.h"
#include "trace/emit.h"

// Turns the scheduler's changes of state into the tracer's events. The trace_ functions are called only while something
// is recorded.
namespace weft::sched {

// Tell the tracer of the move that g is about to make. The frequent moves have functions of their own.
WEFT_COLD_CALLED void trace_block(std::uintptr_t g, std::uintptr_t) noexcept;
WEFT_COLD_CALLED void trace_stop(std::uintptr_t g, std::uintptr_t) noexcept;
WEFT_COLD_CALLED void trace_unblock(std::uintptr_t g, std::uintptr_t) noexcept;
WEFT_COLD_CALLED void trace_start(std::uintptr_t g, std::uintptr_t at_once) noexcept;
WEFT_COLD_CALLED void trace_move(std::uintptr_t g, std::uintptr_t from_and_to) noexcept;

// Callers pass constant states, so the compiler keeps only one of the calls.
inline void trace_transition(Goroutine* g, GStatus from, GStatus to, bool at_once) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(g);
  if (from == GStatus::kRunning && to == GStatus::kWaiting) {
    arch::cold_call<trace_block>(address, 0);
  } else if (from == GStatus::kRunning && to == GStatus::kRunnable) {
    arch::cold_call<trace_stop>(address, 0);
  } else if (from == GStatus::kWaiting && to == GStatus::kRunnable) {
    arch::cold_call<trace_unblock>(address, 0);
  } else if (from == GStatus::kRunnable) {
    arch::cold_call<trace_start>(address, at_once ? 1 : 0);
  } else {
    arch::cold_call<trace_move>(address, static_cast<std::uintptr_t>(from) << 8 | static_cast<std::uintptr_t>(to));
  }
}

// The usual change of a goroutine's state: the tracer's event, the check (debug builds), the store. Code that has told
// the tracer itself calls transition_untraced() (goroutine.h).
// `at_once`: g starts right after another goroutine has left, without a search for work.
inline void transition(Goroutine* g, GStatus from, GStatus to, bool at_once = false) noexcept {
  if (trace::recording()) trace_transition(g, from, to, at_once);
  transition_untraced(g, from, to);
}

void trace_acquire(Processor& p) noexcept;  // p is about to become this thread's
void trace_release(Processor& p) noexcept;
WEFT_COLD_CALLED void trace_spawn(std::uintptr_t runnable_bits, std::uintptr_t) noexcept;  // by cold_call()
// The running goroutine, which was spawned before the session began, is about to change its id. For readers of the
// trace it ends, and another one appears.
WEFT_COLD_CALLED void trace_rename(std::uintptr_t g, std::uintptr_t) noexcept;  // by cold_call()
void trace_world_stopping() noexcept;
void trace_world_started() noexcept;
void trace_maxprocs(std::uint32_t n) noexcept;

// Called in the handler of the sampling signal.
void trace_cpu_sample(const void* ucontext) noexcept;

// P, goroutine and stack of the calling thread, for annotations.
trace::Place trace_place() noexcept;

// The texts of the reasons in these events.
std::vector<std::string> trace_reasons();
// At the start of a session: calls introduce() for every goroutine that waits.
void trace_waiting(void (*introduce)(trace::Mark*, std::uint64_t word, std::uint64_t id));

}  // namespace weft::sched
