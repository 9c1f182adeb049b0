// SPDX-License-Identifier: MIT
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "trace_reader/replay.h"

// For tests: a trace that weft has recorded, read back by replay() and by Go's reader.
namespace weft::tools {

// What a replayed trace holds.
struct Contents final : EventSink {
  std::string error;  // empty: the trace is valid
  std::uint64_t generations = 0, events = 0;
  std::uint64_t created = 0, started = 0, blocked = 0, unblocked = 0, calls = 0, steals = 0, stops = 0;
  std::uint64_t gaps = 0, samples = 0;  // gaps: stretches of lost events that the trace reports
  std::map<std::string, std::uint64_t> reasons;
  std::set<std::uint64_t> goroutines;  // alive at the end

  bool ok() const { return error.empty(); }

  void generation(const Generation& it) override {
    ++generations;
    current_ = &it;
  }
  void sample(const CpuSample& it, std::int64_t) override {
    ++samples;
    for (const Frame& frame : current_->stack(it.stack)) sampled_functions.emplace(frame.function);
  }
  void event(const OrderedEvent& it) override {
    using trace::format::Event;
    ++events;
    switch (it.type) {
      case Event::kGoStatus: goroutines.insert(it.args[0]); break;
      case Event::kGoCreate:
      case Event::kGoCreateBlocked:
        ++created;
        goroutines.insert(it.args[0]);
        add_line(first_lines, it.args[1]);
        add_line(spawn_lines, it.args[2]);
        break;
      case Event::kGoDestroy: goroutines.erase(it.context.g); break;
      case Event::kGoStart:   ++started; break;
      case Event::kGoBlock:   ++blocked; [[fallthrough]];
      case Event::kGoStop:    ++reasons[std::string(current_->string(it.args[0]))]; break;
      case Event::kGoUnblock: ++unblocked; break;
      case Event::kGoSyscallBegin:
        ++calls;
        call_stacks.insert(it.args[1]);
        for (const Frame& frame : current_->stack(it.args[1])) call_functions.emplace(frame.function);
        break;
      case Event::kProcSteal: ++steals; break;
      case Event::kStwBegin:  ++stops; break;
      case Event::kUserLog:
        if (current_->string(it.args[1]) == "weft: events lost") ++gaps;
        break;
      default: break;
    }
  }
  std::set<std::uint64_t> call_stacks;
  std::set<std::string> call_functions, sampled_functions;
  // "file.cc:12": the first frames of goroutines, and of their spawners.
  std::set<std::string> first_lines, spawn_lines;

 private:
  void add_line(std::set<std::string>& lines, std::uint64_t stack) {
    const std::vector<Frame>& frames = current_->stack(stack);
    if (frames.empty()) return;
    const std::string_view file = frames.front().file;
    lines.insert(std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(frames.front().line));
  }

  const Generation* current_ = nullptr;
};

class RecordedTrace {
 public:
  explicit RecordedTrace(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / ("weft-" + process() + "-" + name + ".trace")) {}
  ~RecordedTrace() { std::filesystem::remove(path_); }
  RecordedTrace(const RecordedTrace&) = delete;

  std::string path() const { return path_.string(); }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Contents check() const {
    const std::string file = bytes();
    const TraceFile read = read_trace({reinterpret_cast<const unsigned char*>(file.data()), file.size()});
    Contents contents;
    if (const std::optional<Fault> fault = replay(read, contents))
      contents.error = "byte " + std::to_string(fault->offset) + ": " + fault->reason;
    return contents;
  }

 private:
  // The child of a death test is this program started again. It finds the file by its parent's process id.
  static std::string process() {
    setenv("WEFT_TEST_PROCESS", std::to_string(getpid()).c_str(), 0);
    return std::getenv("WEFT_TEST_PROCESS");
  }

  std::filesystem::path path_;
};

inline bool have_go() {
  static const bool found = std::system("go version > /dev/null 2>&1") == 0;
  return found;
}

// Checks the file with Go's reader, where there is one.
inline void expect_go_reads(const RecordedTrace& file) {
  if (!have_go()) {
    std::printf("[  NOTE    ] go is not on the PATH: Go's own reader was not asked\n");
    return;
  }
  const std::string command = "go tool trace -d=parsed '" + file.path() + "' 2>&1 > /dev/null | head -c 1000";
  std::FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  for (int c; (c = std::fgetc(pipe)) != EOF;) output.push_back(static_cast<char>(c));
  pclose(pipe);
  EXPECT_EQ(output, "");
}

}  // namespace weft::tools
