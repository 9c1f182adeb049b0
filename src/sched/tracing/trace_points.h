// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "arch/cold_call.h"
#include "sched/scheduler.h"
#include "trace/emit.h"

// From the scheduler's changes of state to the tracer's events. Called only while something is recorded.
namespace weft::sched {

void trace_acquire(Processor& p) noexcept;  // p is about to be this thread's
void trace_release(Processor& p) noexcept;
WEFT_COLD_CALLED void trace_spawn(std::uintptr_t runnable_bits, std::uintptr_t) noexcept;  // by cold_call()
// The running goroutine, spawned before the session began, is about to change its id: to readers it ends, and another appears.
WEFT_COLD_CALLED void trace_rename(std::uintptr_t g, std::uintptr_t) noexcept;  // by cold_call()
void trace_world_stopping() noexcept;
void trace_world_started() noexcept;
void trace_maxprocs(std::uint32_t n) noexcept;

// In the handler of the sampling signal.
void trace_cpu_sample(const void* ucontext) noexcept;

// P, goroutine and stack of the calling thread, for annotations.
trace::Place trace_place() noexcept;

// Texts of the reasons used in these events.
std::vector<std::string> trace_reasons();
// For the start of a session: every goroutine that waits.
void trace_waiting(void (*introduce)(trace::Mark*, std::uint64_t word, std::uint64_t id));

}  // namespace weft::sched
