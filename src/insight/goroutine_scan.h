// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

// What goroutines are doing, seen without stopping anything: it works when every P is stuck. Each goroutine is seen at
// another moment, and one that changes its state meanwhile may be seen in between; nothing here follows a pointer of it.
namespace weft::insight {

struct Group {
  std::uint64_t count = 0;
  std::uint32_t longest_ms = 0;  // the longest wait so far
  std::uint64_t longest_id = 0;
};
struct Waiter {
  std::uint64_t id;
  std::uint32_t ms;
  std::string state;
  std::int32_t site;
};

struct GoroutineScan {
  std::map<std::pair<std::string, std::int32_t>, Group> groups;  // by state and spawn site
  std::map<std::string, std::uint64_t> states;
  std::vector<Waiter> longest;  // the longest waits first
};

GoroutineScan scan_goroutines(std::size_t most_waiters);

}  // namespace weft::insight
