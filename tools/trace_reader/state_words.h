// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "trace/format.h"

// How the messages of faults name goroutines, Ps and Ms.
namespace weft::tools::words {

inline constexpr std::uint64_t kLargestId = trace::format::kNone >> 1;  // Go's readers take ids as signed numbers

inline std::string number(std::uint64_t value) {
  return value == trace::format::kNone ? "none" : std::to_string(value);
}
inline std::string name(std::string_view kind, std::uint64_t id) { return std::string(kind) + " " + number(id); }
inline std::string goroutine(std::uint64_t id) { return name("goroutine", id); }
inline std::string status_name(trace::format::GoStatus status) {
  return std::string(trace::format::kGoStatusNames[static_cast<std::size_t>(status)]);
}
inline std::string status_name(trace::format::ProcStatus status) {
  return std::string(trace::format::kProcStatusNames[static_cast<std::size_t>(status)]);
}

}  // namespace weft::tools::words
