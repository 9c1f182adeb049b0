// SPDX-License-Identifier: MIT
#include <ostream>
#include <string>
#include <vector>

#include "trace_reader/analysis.h"
#include "trace_reader/text.h"
#include "viewer/assets.h"
#include "viewer/outputs.h"

// The page is its assets (viewer/page/) and the timeline: tables as JSON, spans as varints in base64. A span takes
// about ten bytes, so that a million events make a file of some megabytes. Nothing of the trace is ever parsed as HTML
// or script, because JSON escapes < > &, base64 has none of them, and the scripts set textContent only.
namespace weft::tools {
namespace {

// Numbers as varints, to be written as base64. An index is written plus one, kNoIndex as 0.
class Blob {
 public:
  void number(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<unsigned char>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<unsigned char>(value));
  }
  void time(std::int64_t value) { number(static_cast<std::uint64_t>(value < 0 ? 0 : value)); }
  void index(std::uint32_t value) { number(value == kNoIndex ? 0 : std::uint64_t{value} + 1); }

  void write(std::ostream& out, const char* id) const {
    constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve(bytes_.size() / 3 * 4 + 4);
    for (std::size_t i = 0; i < bytes_.size(); i += 3) {
      const std::size_t left = bytes_.size() - i;
      const std::uint32_t group = std::uint32_t{bytes_[i]} << 16 | (left > 1 ? std::uint32_t{bytes_[i + 1]} << 8 : 0) |
                                  (left > 2 ? std::uint32_t{bytes_[i + 2]} : 0);
      text += kDigits[group >> 18];
      text += kDigits[group >> 12 & 63];
      text += left > 1 ? kDigits[group >> 6 & 63] : '=';
      text += left > 2 ? kDigits[group & 63] : '=';
    }
    out << "<script type=\"text/plain\" id=\"" << id << "\">" << text << "</script>\n";
  }

 private:
  std::vector<unsigned char> bytes_;
};

Blob goroutines(const Timeline& line) {
  Blob blob;
  std::uint64_t last = 0;
  for (const Goroutine& goroutine : line.goroutines) {
    blob.number(goroutine.id - last);
    last = goroutine.id;
    blob.number(goroutine.name);
    blob.number(goroutine.function);
    blob.index(goroutine.creator);
    blob.index(goroutine.creation_stack);
    blob.number(static_cast<std::uint64_t>(goroutine.created) | static_cast<std::uint64_t>(goroutine.ended) << 1);
    blob.time(goroutine.start);
    blob.time(goroutine.end - goroutine.start);
    blob.number(goroutine.spans);
  }
  return blob;
}

Blob spans(const Timeline& line) {
  Blob blob;
  std::int64_t last_end = 0;
  std::uint32_t last_g = kNoIndex;
  for (const GoSpan& span : line.spans) {
    if (span.g != last_g) last_end = 0;
    last_g = span.g;
    blob.number(static_cast<std::uint64_t>(span.state) | static_cast<std::uint64_t>(span.open) << 3);
    blob.time(span.start - last_end);
    blob.time(span.end - span.start);
    last_end = span.end;
    blob.number(span.reason);
    blob.index(span.stack);
    if (is_on_thread(span.state)) {
      blob.index(span.m);
      blob.index(span.p);
    } else if (span.state == GoState::kRunnable) {
      blob.index(span.by);
      blob.index(span.by_stack);
    }
  }
  return blob;
}

Blob proc_spans(const Timeline& line) {
  Blob blob;
  for (const ProcSpan& span : line.proc_spans) {
    blob.number(span.p);
    blob.number(static_cast<std::uint64_t>(span.state));
    blob.time(span.start);
    blob.time(span.end - span.start);
    blob.index(span.m);
  }
  return blob;
}

Blob ranges(const Timeline& line) {
  Blob blob;
  for (const Range& range : line.ranges) {
    blob.number(static_cast<std::uint64_t>(range.kind));
    blob.time(range.start);
    blob.time(range.end - range.start);
    blob.index(range.g);
    blob.number(range.name);
  }
  return blob;
}

Blob samples(const Timeline& line) {
  Blob blob;
  for (const Sample& sample : line.samples) {
    blob.time(sample.time);
    blob.index(sample.g);
    blob.index(sample.p);
    blob.index(sample.stack);
  }
  return blob;
}

template <class List, class Write>
void write_list(std::ostream& out, const char* name, const List& list, Write write) {
  out << ",\n\"" << name << "\":[";
  bool first = true;
  for (const auto& item : list) {
    if (!first) out << ",";
    first = false;
    write(item);
  }
  out << "]";
}

void write_histogram(std::ostream& out, const Histogram& histogram) {
  out << "[";
  for (std::size_t i = 0; i < histogram.buckets.size(); ++i) out << (i == 0 ? "" : ",") << histogram.buckets[i];
  out << "]";
}

void write_group(std::ostream& out, const Timeline& line, const SpawnGroup& group) {
  out << "{\"text\":" << json(site_text(line, group)) << ",\"function\":" << group.function << ",\"time\":[";
  for (std::size_t i = 0; i < kGoStates; ++i) out << (i == 0 ? "" : ",") << group.time[i];
  out << "],\"latency\":";
  write_histogram(out, group.latency);
  out << ",\"goroutines\":[";
  for (std::size_t i = 0; i < group.goroutines.size(); ++i) out << (i == 0 ? "" : ",") << group.goroutines[i];
  out << "]}";
}

void write_tables(std::ostream& out, const Timeline& line, std::string_view name) {
  const Analysis analysis = analyse(line);
  out << "<script type=\"application/json\" id=\"tables\">{\"name\":" << json(name) << ",\"version\":" << line.version
      << ",\"generations\":" << line.generations << ",\"events\":" << line.events << ",\"duration\":" << line.duration
      << ",\"wall\":" << (line.wall_start_ns ? std::to_string(*line.wall_start_ns / 1'000'000) : "null")
      << ",\"fault\":"
      << (line.fault ? json("offset " + std::to_string(line.fault->offset) + ": " + line.fault->reason) : "null");
  const auto number = [&](std::uint64_t value) { out << value; };
  write_list(out, "ps", line.ps, number);
  write_list(out, "ms", line.ms, number);
  write_list(out, "strings", line.strings, [&](const std::string& text) { out << json(text); });
  write_list(out, "stacks", line.stacks, [&](const std::vector<StackFrame>& stack) {
    out << "[";
    for (std::size_t i = 0; i < stack.size(); ++i) {
      out << (i == 0 ? "" : ",") << stack[i].function << "," << stack[i].file << "," << stack[i].line;
    }
    out << "]";
  });
  write_list(out, "groups", analysis.groups, [&](const SpawnGroup& group) { write_group(out, line, group); });
  write_list(out, "waits", analysis.waits, [&](const WaitReason& wait) {
    out << "[" << wait.reason << "," << wait.count << "," << wait.time << "]";
  });
  write_list(out, "longestWaits", analysis.longest_waits, number);
  write_list(out, "longestRunnable", analysis.longest_latencies, number);
  write_list(out, "messages", line.messages, [&](const Message& message) {
    out << "[" << message.time << "," << (message.g == kNoIndex ? -1 : static_cast<std::int64_t>(message.g)) << ","
        << message.key << "," << message.text << "]";
  });
  write_list(out, "procs", line.procs_changes,
             [&](const ProcsChange& change) { out << "[" << change.time << "," << change.count << "]"; });
  out << ",\n\"exiled\":" << analysis.exiled << ",\n\"latency\":";
  write_histogram(out, analysis.latency);
  out << "}</script>\n";
}

}  // namespace

void write_page(std::ostream& out, const Timeline& line, std::string_view name) {
  out << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
         "script-src "
         "'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>"
      << html(name) << " - weft trace</title>\n<style>\n"
      << asset::kStyle << "</style>\n</head>\n"
      << asset::kBody;
  write_tables(out, line, name);
  goroutines(line).write(out, "goroutines");
  spans(line).write(out, "spans");
  proc_spans(line).write(out, "procspans");
  ranges(line).write(out, "ranges");
  samples(line).write(out, "samples");
  out << "<script>\n\"use strict\";\n(() => {\n" << asset::kScript << "})();\n</script>\n</body>\n</html>\n";
}

}  // namespace weft::tools
