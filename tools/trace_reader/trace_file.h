// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/format.h"

// The structure of a trace file: generations, their tables and, unread yet, the batches of each M. Every byte may be
// wrong: everything is checked before it is used, no allocation trusts a number of the file,
// and the first fault ends the reading.
//
// Strings and batches are views into the file's bytes, which must outlive them.
namespace weft::tools {

using Bytes = std::span<const unsigned char>;

// What is wrong with a file, and where.
struct Fault {
  std::uint64_t offset = 0;
  std::string reason;
};

struct Frame {
  std::uint64_t pc = 0;
  std::string_view function;
  std::string_view file;
  std::uint64_t line = 0;
};

struct Batch {
  std::uint64_t time = 0;    // timestamp units
  std::uint64_t offset = 0;  // of the first byte of the payload
  Bytes payload;
};

struct MachineBatches {
  std::uint64_t m = 0;
  std::vector<Batch> batches;
};

struct CpuSample {
  std::uint64_t time = 0;  // timestamp units
  std::uint64_t m = 0, p = 0, g = 0, stack = 0;
};

struct Generation {
  std::uint64_t number = 0;
  std::uint64_t offset = 0;
  std::uint64_t frequency = 0;  // timestamp units per second
  // Wall clock at a timestamp, if the version has it.
  struct Clock {
    std::uint64_t time = 0, monotonic_ns = 0, wall_s = 0, wall_ns = 0;
  };
  std::optional<Clock> clock;
  std::unordered_map<std::uint64_t, std::string_view> strings;
  std::unordered_map<std::uint64_t, std::vector<Frame>> stacks;
  std::vector<CpuSample> samples;  // by time
  std::vector<MachineBatches> machines;
  // The file broke off in this generation, so it may lack something.
  bool cut = false;

  std::string_view string(std::uint64_t id) const;
  const std::vector<Frame>& stack(std::uint64_t id) const;
  bool has_string(std::uint64_t id) const { return id == 0 || strings.contains(id); }
  bool has_stack(std::uint64_t id) const { return id == 0 || stacks.contains(id); }
  // Nanoseconds of a timestamp; saturates.
  std::int64_t nanoseconds(std::uint64_t units) const;
};

struct TraceFile {
  unsigned version = 0;
  std::vector<Generation> generations;
  std::optional<Fault> fault;
};

TraceFile read_trace(Bytes file);

}  // namespace weft::tools
