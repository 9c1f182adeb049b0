// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace_reader/trace_file.h"

// The content of a trace as spans of time. The summary, the page and the JSON are all made of this. Times are
// nanoseconds since the first event; indices point into the tables, kNoIndex is "none".
namespace weft::tools {

inline constexpr std::uint32_t kNoIndex = ~std::uint32_t{0};

// kExiled: it computes, but its P was given to others (weft's preemption of code without checks).
enum class GoState : std::uint8_t { kRunnable, kRunning, kInCall, kWaiting, kExiled };
inline constexpr std::size_t kGoStates = 5;
// On a thread.
constexpr bool is_on_thread(GoState state) {
  return state == GoState::kRunning || state == GoState::kInCall || state == GoState::kExiled;
}

struct StackFrame {
  std::uint32_t function = 0;  // strings
  std::uint32_t file = 0;
  std::uint64_t line = 0;
  friend bool operator==(const StackFrame&, const StackFrame&) = default;
};

// One state of one goroutine. A call whose P is taken away is two spans: with the P, and without.
struct GoSpan {
  std::int64_t start = 0, end = 0;
  std::uint32_t g = 0;
  GoState state = GoState::kRunnable;
  bool open = false;                  // the trace ended first
  std::uint32_t reason = 0;           // string: what it waits for, or why it became runnable
  std::uint32_t stack = kNoIndex;     // where it blocked, stopped or called
  std::uint32_t m = kNoIndex;         // running, in a call, in exile
  std::uint32_t p = kNoIndex;         // the same; none if it was taken
  std::uint32_t by = kNoIndex;        // runnable: the goroutine that made it so
  std::uint32_t by_stack = kNoIndex;  // and where
};

enum class ProcState : std::uint8_t { kIdle, kRunning, kInCall };

struct ProcSpan {
  std::int64_t start = 0, end = 0;
  std::uint32_t p = 0;
  ProcState state = ProcState::kIdle;
  std::uint32_t m = kNoIndex;
};

struct Goroutine {
  std::uint64_t id = 0;
  std::uint32_t name = 0;      // the last label, empty if there was none
  std::uint32_t function = 0;  // what it runs, empty if unknown
  StackFrame site;             // where it was created, if it was created in the trace
  std::uint32_t creator = kNoIndex;
  std::uint32_t creation_stack = kNoIndex;
  bool created = false, ended = false;
  std::int64_t start = 0, end = 0;
  std::array<std::int64_t, kGoStates> time{};
  std::uint32_t first_span = 0, spans = 0;
};

// A named stretch of time: stop-the-world, GC, user region, user task. g is kNoIndex for tasks and GC.
struct Range {
  enum class Kind : std::uint8_t { kStopTheWorld, kGc, kRegion, kTask } kind = Kind::kRegion;
  std::int64_t start = 0, end = 0;
  std::uint32_t g = kNoIndex;
  std::uint32_t name = 0;
  std::uint64_t task = 0;
};

struct Message {
  std::int64_t time = 0;
  std::uint32_t g = kNoIndex;
  std::uint32_t key = 0, text = 0;
};

struct Sample {
  std::int64_t time = 0;
  std::uint32_t g = kNoIndex, m = kNoIndex, p = kNoIndex, stack = kNoIndex;
};

struct ProcsChange {
  std::int64_t time = 0;
  std::uint64_t count = 0;
};

struct Timeline {
  unsigned version = 0;
  std::size_t generations = 0;
  std::uint64_t events = 0;
  std::int64_t duration = 0;
  std::optional<std::int64_t> wall_start_ns;  // since 1970, if the trace says it

  std::vector<std::string> strings;  // 0 is the empty one
  std::vector<std::vector<StackFrame>> stacks;
  std::vector<Goroutine> goroutines;  // by id
  std::vector<GoSpan> spans;          // by goroutine, then time
  std::vector<ProcSpan> proc_spans;   // by P, then time
  std::vector<std::uint64_t> ps, ms;  // their numbers, ascending
  std::vector<Range> ranges;
  std::vector<Message> messages;
  std::vector<Sample> samples;
  std::vector<ProcsChange> procs_changes;

  std::optional<Fault> fault;  // what ended the reading early

  const std::string& text(std::uint32_t string) const { return strings[string]; }
  // "worker" or, without a name, the function; empty if neither is known.
  const std::string& title(const Goroutine& goroutine) const {
    return strings[goroutine.name != 0 ? goroutine.name : goroutine.function];
  }
};

Timeline make_timeline(const TraceFile& file);

}  // namespace weft::tools
