// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

// The execution tracer: every change of the scheduler's state, in Go's execution-trace format (v2). `weft trace` and
// `go tool trace` read it.
//   Cost    Off: one load and branch at each change of state. On: some tens of nanoseconds per event.
//   Memory  Bounded (128 MiB). When the disk cannot keep up, a stretch of the trace is left out, and the next goroutine
//           that starts logs the number of missing events ("weft: events lost").
//   Start   At any time, without stopping anything: what already goes on is introduced when it is met.
//   Also    WEFT_TRACE=FILE traces a whole program; %p in FILE stands for the process number.
namespace weft::trace {

// Throws std::system_error if the file cannot be written, weft::logic_error if a trace is already being written.
void start(const std::string& path);
// The file is complete when it returns. Throws std::system_error if writing failed, logic_error if nothing was started.
void stop();
bool enabled() noexcept;

// While a trace or the flight recorder is on: records where each computing thread is, so many times a second (0 to
// 10,000; 0: not any more). Uses SIGPROF. Throws logic_error if the program handles that signal itself.
void sample_cpu(int per_second);

// Work that spans several goroutines. Pass it by reference to what belongs to it; it ends with its scope.
class task {
 public:
  explicit task(std::string_view name);
  task(std::string_view name, const task& parent);
  ~task();
  task(const task&) = delete;
  task& operator=(const task&) = delete;
  std::uint64_t id() const noexcept { return id_; }

 private:
  std::uint64_t id_;
};

// A stretch of one goroutine's time. Regions of a goroutine nest, as scopes do.
class region {
 public:
  explicit region(std::string_view name);
  region(const task& owner, std::string_view name);
  ~region();
  region(const region&) = delete;
  region& operator=(const region&) = delete;

 private:
  std::uint64_t task_;
  std::uint32_t begun_;
  std::string name_;
};

// Logs a line at this moment. Key and text are at most 1024 bytes each.
void log(std::string_view key, std::string_view text);
void log(const task& owner, std::string_view key, std::string_view text);

// Keeps the last seconds in memory, to be written when something has gone wrong. There is one at a time. Starting or
// stopping a file trace beside it empties it.
class flight_recorder {
 public:
  explicit flight_recorder(std::chrono::nanoseconds window = std::chrono::seconds(10));
  ~flight_recorder();
  flight_recorder(const flight_recorder&) = delete;
  flight_recorder& operator=(const flight_recorder&) = delete;

  // Writes a trace of the last seconds; recording goes on.
  void snapshot(const std::string& path);
  // Also writes one on a deadlock, a fatal error or a crash, and whenever the process gets the signal (0: none). `path`
  // is overwritten.
  void snapshot_on_failure(const std::string& path, int signal = 0);
};

}  // namespace weft::trace
