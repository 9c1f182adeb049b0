// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "trace_reader/trace_file.h"

// Puts the events of all Ms into one order by playing the scheduler. An event goes ahead when the state of its
// goroutine or P and its sequence number allow it. An event that can never go ahead, or that does what no scheduler
// may, is a fault. So replaying a trace validates it:
//   - each goroutine and each P moves along legal transitions, and statuses repeated in later generations agree with
//     them;
//   - an M has at most one goroutine and one P, a P is on one M, a goroutine on one M;
//   - sequence numbers have no gaps; ranges, regions and tasks are balanced; every string and stack that is named
//     exists.
namespace weft::tools {

struct Context {
  std::uint64_t m = trace::format::kNone;
  std::uint64_t p = trace::format::kNone;
  std::uint64_t g = trace::format::kNone;
};

struct OrderedEvent {
  trace::format::Event type = trace::format::Event::kNoEvent;
  std::int64_t time = 0;                // nanoseconds, never decreasing
  std::array<std::uint64_t, 4> args{};  // without the time
  std::uint64_t offset = 0;
  Context context;  // what the M had before the event
};

// Receives the events in order. A goroutine switch arrives as unblock, block (or destroy) and start.
class EventSink {
 public:
  virtual void generation(const Generation&) {}
  virtual void event(const OrderedEvent&) {}
  virtual void sample(const CpuSample&, std::int64_t /*time*/) {}

 protected:
  ~EventSink() = default;
};

// Returns the first fault, if any: the file's own, unless the replay breaks before the place where that one was found.
std::optional<Fault> replay(const TraceFile& file, EventSink& sink);

}  // namespace weft::tools
