// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "trace_reader/text.h"
#include "viewer/outputs.h"

namespace weft::tools {
namespace {

// Lanes stand in four "processes".
constexpr int kPLanes = 1;
constexpr int kMLanes = 2;
constexpr int kGoroutineLanes = 3;
constexpr int kProgram = 4;

std::string microseconds(std::int64_t ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%03d", static_cast<long long>(ns / 1000), static_cast<int>(ns % 1000));
  return text;
}

class Writer {
 public:
  Writer(std::ostream& out, const Timeline& line) : out_(out), line_(line) {}

  void write() {
    out_ << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    name_lanes();
    for (std::size_t i = 0; i < line_.spans.size(); ++i) span(i);
    for (const Range& range : line_.ranges) this->range(range);
    for (const Message& message : line_.messages) this->message(message);
    counters();
    out_ << "\n]}\n";
  }

 private:
  std::ostream& begin(const char* phase, int process, std::uint64_t lane, std::int64_t time) {
    out_ << (first_ ? "\n" : ",\n") << "{\"ph\":\"" << phase << "\",\"pid\":" << process << ",\"tid\":" << lane
         << ",\"ts\":" << microseconds(time);
    first_ = false;
    return out_;
  }

  void name(const char* what, int process, std::uint64_t lane, const std::string& text) {
    begin("M", process, lane, 0) << ",\"name\":\"" << what << "\",\"args\":{\"name\":" << json(text) << "}}";
  }

  std::string title(std::uint32_t g) const {
    const std::string& text = line_.title(line_.goroutines[g]);
    return "G" + std::to_string(line_.goroutines[g].id) + (text.empty() ? "" : " " + text);
  }

  void name_lanes() {
    name("process_name", kPLanes, 0, "Ps");
    name("process_name", kMLanes, 0, "Ms");
    name("process_name", kGoroutineLanes, 0, "goroutines");
    name("process_name", kProgram, 0, "program");
    for (const std::uint64_t p : line_.ps) name("thread_name", kPLanes, p, "P " + std::to_string(p));
    for (const std::uint64_t m : line_.ms) name("thread_name", kMLanes, m, "M " + std::to_string(m));
    for (std::uint32_t g = 0; g < line_.goroutines.size(); ++g) {
      name("thread_name", kGoroutineLanes, line_.goroutines[g].id, title(g));
    }
  }

  void complete(int process, std::uint64_t lane, const GoSpan& span, const std::string& text) {
    begin("X", process, lane, span.start)
        << ",\"dur\":" << microseconds(span.end - span.start) << ",\"name\":" << json(text)
        << ",\"args\":{\"goroutine\":" << line_.goroutines[span.g].id;
    if (span.reason != 0) out_ << ",\"reason\":" << json(line_.text(span.reason));
    if (span.stack != kNoIndex && !line_.stacks[span.stack].empty()) {
      out_ << ",\"at\":" << json(line_.text(line_.stacks[span.stack].front().function));
    }
    out_ << "}}";
  }

  void span(std::size_t index) {
    const GoSpan& span = line_.spans[index];
    const std::uint64_t id = line_.goroutines[span.g].id;
    constexpr const char* kNames[] = {"runnable", "running", "in call", "waiting", "without a P"};
    static_assert(std::size(kNames) == kGoStates);
    std::string state = kNames[static_cast<std::size_t>(span.state)];
    if (span.state == GoState::kWaiting && span.reason != 0) state += ": " + line_.text(span.reason);
    complete(kGoroutineLanes, id, span, state);
    if (is_on_thread(span.state)) {
      const std::string text = title(span.g) + (span.state == GoState::kInCall   ? " (in call)"
                                                : span.state == GoState::kExiled ? " (without a P)"
                                                                                 : "");
      if (span.p != kNoIndex) complete(kPLanes, line_.ps[span.p], span, text);
      if (span.m != kNoIndex) complete(kMLanes, line_.ms[span.m], span, text);
    }
    if (span.state == GoState::kRunnable && span.by != kNoIndex) arrow(span);
  }

  // From the goroutine that unblocked it to where it becomes runnable.
  void arrow(const GoSpan& span) {
    ++arrows_;
    begin("s", kGoroutineLanes, line_.goroutines[span.by].id, span.start)
        << ",\"id\":" << arrows_ << ",\"cat\":\"unblock\",\"name\":" << json(line_.text(span.reason)) << "}";
    begin("f", kGoroutineLanes, line_.goroutines[span.g].id, span.start)
        << ",\"bp\":\"e\",\"id\":" << arrows_ << ",\"cat\":\"unblock\",\"name\":" << json(line_.text(span.reason))
        << "}";
  }

  void range(const Range& range) {
    const std::string length = microseconds(range.end - range.start);
    switch (range.kind) {
      case Range::Kind::kStopTheWorld:
      case Range::Kind::kGc:
        begin("X", kProgram, range.kind == Range::Kind::kGc ? 1 : 2, range.start)
            << ",\"dur\":" << length
            << ",\"name\":" << json((range.kind == Range::Kind::kGc ? "" : "world stopped: ") + line_.text(range.name))
            << "}";
        break;
      case Range::Kind::kRegion:
        begin("b", kGoroutineLanes, line_.goroutines[range.g].id, range.start)
            << async("region", range, ++regions_) << "}";
        begin("e", kGoroutineLanes, line_.goroutines[range.g].id, range.end) << async("region", range, regions_) << "}";
        break;
      case Range::Kind::kTask:
        begin("b", kProgram, 0, range.start) << async("task", range, range.task) << "}";
        begin("e", kProgram, 0, range.end) << async("task", range, range.task) << "}";
        break;
    }
  }

  std::string async(const char* kind, const Range& range, std::uint64_t id) const {
    return std::string(",\"cat\":\"") + kind + "\",\"id\":" + std::to_string(id) +
           ",\"name\":" + json(line_.text(range.name));
  }

  void message(const Message& message) {
    const bool has_g = message.g != kNoIndex;
    begin("i", has_g ? kGoroutineLanes : kProgram, has_g ? line_.goroutines[message.g].id : 0, message.time)
        << ",\"s\":\"t\",\"name\":" << json(line_.text(message.key) + ": " + line_.text(message.text)) << "}";
  }

  void counters() {
    std::vector<std::pair<std::int64_t, std::pair<std::size_t, int>>> changes;
    for (const GoSpan& span : line_.spans) {
      changes.push_back({span.start, {static_cast<std::size_t>(span.state), 1}});
      changes.push_back({span.end, {static_cast<std::size_t>(span.state), -1}});
    }
    std::sort(changes.begin(), changes.end());
    const bool exiles = std::any_of(line_.spans.begin(), line_.spans.end(),
                                    [](const GoSpan& it) { return it.state == GoState::kExiled; });
    std::array<std::int64_t, kGoStates> now{};
    for (std::size_t i = 0; i < changes.size(); ++i) {
      now[changes[i].second.first] += changes[i].second.second;
      if (i + 1 < changes.size() && changes[i + 1].first == changes[i].first) continue;
      begin("C", kProgram, 0, changes[i].first)
          << ",\"name\":\"goroutines\",\"args\":{\"runnable\":" << now[0] << ",\"running\":" << now[1]
          << ",\"in call\":" << now[2] << ",\"waiting\":" << now[3];
      if (exiles) out_ << ",\"without a P\":" << now[4];
      out_ << "}}";
    }
  }

  std::ostream& out_;
  const Timeline& line_;
  bool first_ = true;
  std::uint64_t arrows_ = 0;
  std::uint64_t regions_ = 0;
};

}  // namespace

void write_perfetto(std::ostream& out, const Timeline& line) { Writer(out, line).write(); }

}  // namespace weft::tools
