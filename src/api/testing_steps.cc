// SPDX-License-Identifier: MIT
#include "api/testing_steps.h"

#include "os/symbolizer.h"
#include "sched/frames/runtime_text.h"

namespace weft::api {
namespace {

constexpr std::size_t kMostLines = 80;

bool is_of_library(const os::Symbol& symbol) {
  return symbol.file.empty() || symbol.file.find("/include/weft/") != std::string::npos ||
         symbol.file.find("/bits/") != std::string::npos || symbol.file.find("/c++/") != std::string::npos ||
         symbol.function.starts_with("weft::") || symbol.function.starts_with("std::") ||
         symbol.function.starts_with("weft_");
}

// The innermost place in the user's code, or the innermost that has a line.
std::string place_of(const Step& step) {
  std::string fallback;
  for (std::size_t i = 0; i < step.frames; ++i) {
    const auto pc = reinterpret_cast<std::uintptr_t>(step.at[i]);
    if (sched::in_runtime(pc)) continue;
    const os::Symbol symbol = os::symbolize(reinterpret_cast<const void*>(pc - 1));
    if (symbol.file.empty()) continue;
    const std::string place = symbol.file.substr(symbol.file.rfind('/') + 1) + ":" + std::to_string(symbol.line);
    if (!is_of_library(symbol)) return place;
    if (fallback.empty()) fallback = place;
  }
  return fallback;
}

}  // namespace

std::string describe_steps(const std::vector<Step>& steps) {
  std::string text;
  std::size_t lines = 0;
  for (const Step& step : steps) {
    if (step.from == 0) continue;
    if (++lines > kMostLines) {
      text += "  and " + std::to_string(steps.size() - kMostLines) + " more switches\n";
      break;
    }
    const std::string who = "goroutine " + std::to_string(step.from);
    const std::string place = step.stopped ? place_of(step) : std::string();
    const std::string does = !step.stopped ? " waits, yields or ends" : place.empty() ? " stops" : " stops at " + place;
    text += "  " + who + does + "; goroutine " + std::to_string(step.to) + " runs\n";
  }
  return text;
}

}  // namespace weft::api
