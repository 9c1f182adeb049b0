// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "trace/emit.h"

// The thread behind the recorder: ends generations (once a second, or when much has been written), symbolises, writes the file,
// keeps the flight recorder's window. It starts with the first session and stays.
//   Callers   block their thread on a note until it has done what they asked: from goroutines, inside a blocking call.
//   File      one generation after the other, each written as a whole; a disk that is full ends the trace at the last whole one.
namespace weft::trace {

struct CollectorSetup {
  std::vector<std::string> reasons;  // texts of Reason 0, 1, ...
  // Calls introduce(mark, word read first, id) for each goroutine that waits.
  void (*for_each_waiting)(void (*introduce)(Mark*, std::uint64_t, std::uint64_t)) = nullptr;
  void (*thread_started)() = nullptr;  // a helper thread exists from now on (deadlock check)
};
// Once, before anything else here.
void set_up_collector(CollectorSetup setup);

// 0, or an errno: EALREADY (that is on already), EINVAL (that is not on), EAGAIN (no thread), or the writing's.
int start_file(int fd) noexcept;  // takes the descriptor
int stop_file() noexcept;         // when it returns the file is complete
int start_flight(std::int64_t window_ns) noexcept;
int stop_flight() noexcept;
int write_snapshot(int fd) noexcept;  // does not take it

// What a signal, a deadlock or a crash writes; empty: nothing.
void set_snapshot_path(const char* path) noexcept;
// In a signal handler: snapshot soon.
void request_snapshot() noexcept;
// The process ends: completes the file, unless nothing happens for `limit_ns`. Any thread, also one that has crashed in the middle of anything.
enum class Ending { kExit, kCrash };
void finish(Ending ending, std::int64_t limit_ns) noexcept;

// While something is recorded, each thread that computes gets the signal so often (0: never); its handler calls cpu_sample().
// EAGAIN: no thread; ENOMEM.
int set_sampling(int per_second, int signal) noexcept;

void forget_collector_in_child() noexcept;

struct CollectorCounts {
  std::uint64_t generations, bytes, lost_events, inconsistencies;
  const char* last_inconsistency;
};
CollectorCounts collector_counts() noexcept;  // for tests
void set_generation_ns(std::int64_t ns) noexcept;

}  // namespace weft::trace
