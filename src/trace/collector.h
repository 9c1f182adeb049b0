// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "trace/emit.h"

// The thread behind the recorder. It ends generations (once a second, or when much has been written), symbolises,
// writes the file, and keeps the flight recorder's window. It starts with the first request and stays.
//   Callers   block their thread on a note until the collector has done what they asked. Goroutines do so inside a
//             blocking call.
//   File      Generations follow one another, each written as a whole. A full disk ends the trace after the last whole
//             one.
namespace weft::trace {

struct CollectorSetup {
  std::vector<std::string> reasons;  // texts of Reason 0, 1, ...
  // Calls introduce(mark, word read first, id) for each goroutine that waits.
  void (*for_each_waiting)(void (*introduce)(Mark*, std::uint64_t, std::uint64_t)) = nullptr;
  void (*thread_started)() = nullptr;  // a helper thread exists from now on (deadlock check)
};
// Once, before anything else here.
void set_up_collector(CollectorSetup setup);

// 0, or an errno: EALREADY (already on), EINVAL (not on), EAGAIN (no thread), or that of writing.
int start_file(int fd) noexcept;  // takes the descriptor
int stop_file() noexcept;         // when it returns the file is complete
int start_flight(std::int64_t window_ns) noexcept;
int stop_flight() noexcept;
int write_snapshot(int fd) noexcept;  // does not take the descriptor

// Where a signal, a deadlock or a crash writes its snapshot; empty: nowhere.
void set_snapshot_path(const char* path) noexcept;
// In a signal handler: the collector writes the snapshot soon.
void request_snapshot() noexcept;
// The process ends: completes the file. Gives up if the collector uses no CPU time for `limit_ns`, and after ten times
// that. Any thread may call it, also one that has crashed in the middle of anything.
enum class Ending { kExit, kCrash };
void finish(Ending ending, std::int64_t limit_ns) noexcept;

// While recording, each thread that computes gets the signal so often (0: never). Its handler calls cpu_sample().
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
