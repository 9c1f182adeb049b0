// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

// The execution tracer: every change of the scheduler's state, in Go's execution-trace format (v2), which `weft trace` and
// `go tool trace` read.
//   Cost    off: one load and branch at each change of state. On: some tens of nanoseconds an event.
//   Memory  bounded (128 MiB): when the disk cannot keep up, a stretch of the trace is left out, and the next goroutine that
//           starts logs how many events that were ("weft: events lost").
//   Start   at any time, without stopping anything: what goes on already is introduced as it is met.
//   Also    WEFT_TRACE=FILE traces a whole program; %p in it stands for the number of the process.
namespace weft::trace {

// Throws std::system_error (the file cannot be written) or weft::logic_error (a trace is being written already).
void start(const std::string& path);
// The file is complete when it returns. Throws what went wrong with writing; logic_error: nothing was started.
void stop();
bool enabled() noexcept;

// While a trace or the flight recorder is on: so many times a second, where each thread that computes is. 0: not any more. Takes SIGPROF;
// logic_error if the program uses that itself.
void sample_cpu(int per_second);

// Something that spans several goroutines. Pass it by reference to what belongs to it; it ends with its scope.
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

// A line at this moment, at most 1024 bytes each.
void log(std::string_view key, std::string_view text);
void log(const task& owner, std::string_view key, std::string_view text);

// Keeps the last seconds in memory, to be written when something has gone wrong. One at a time; with a file being traced as well,
// starting and stopping that empties it.
class flight_recorder {
 public:
  explicit flight_recorder(std::chrono::nanoseconds window = std::chrono::seconds(10));
  ~flight_recorder();
  flight_recorder(const flight_recorder&) = delete;
  flight_recorder& operator=(const flight_recorder&) = delete;

  // Writes a trace of the last seconds; recording goes on.
  void snapshot(const std::string& path);
  // Also on a deadlock, a fatal error or a crash, and whenever the process gets that signal (0: none). `path` is overwritten.
  void snapshot_on_failure(const std::string& path, int signal = 0);
};

}  // namespace weft::trace
