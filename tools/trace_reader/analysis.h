// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "trace_reader/timeline.h"

namespace weft::tools {

// The sum over many goroutines may exceed the number's range: then it stays at the largest value.
inline void add_time(std::int64_t& sum, std::int64_t more) {
  if (__builtin_add_overflow(sum, more, &sum)) sum = std::numeric_limits<std::int64_t>::max();
}

// Counts of durations by powers of two: bucket 0 is below 2 ns, bucket b [2^b, 2^(b+1)) ns.
struct Histogram {
  std::array<std::uint64_t, 48> buckets{};
  std::uint64_t count = 0;
  std::int64_t longest = 0;

  void add(std::int64_t ns);
};

// Goroutines that run the same function and were created at the same place.
struct SpawnGroup {
  std::uint32_t function = 0;
  StackFrame site;
  bool created = false;
  std::vector<std::uint32_t> goroutines;
  std::array<std::int64_t, kGoStates> time{};
  Histogram latency;  // from runnable to running
};

struct WaitReason {
  std::uint32_t reason = 0;
  std::uint64_t count = 0;
  std::int64_t time = 0;
};

struct Analysis {
  std::vector<SpawnGroup> groups;  // the longest running first
  std::vector<WaitReason> waits;   // the longest sum first
  Histogram latency;
  std::vector<std::int64_t> latencies;           // ascending
  std::vector<std::uint32_t> longest_waits;      // spans, waiting, the longest first
  std::vector<std::uint32_t> longest_latencies;  // spans, runnable
  std::int64_t busy = 0;                         // sum over the Ps
  std::int64_t in_call = 0;
  std::int64_t exiled = 0;   // how long goroutines computed without a P, together
  std::int64_t covered = 0;  // the part of the Ps' idle time in which such a goroutine computed in a P's place
  std::int64_t p_time = 0;
  std::uint64_t most_alive = 0;
};

Analysis analyse(const Timeline& line);

// "worker created at pool.cpp:12", with control characters made visible.
std::string site_text(const Timeline& line, const SpawnGroup& group);

}  // namespace weft::tools
