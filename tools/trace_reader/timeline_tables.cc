// SPDX-License-Identifier: MIT
#include "trace_reader/timeline_tables.h"

namespace weft::tools {

std::uint32_t TimelineTables::stack(const std::vector<Frame>& raw) {
  std::vector<StackFrame> frames;
  std::string key;
  for (const Frame& frame : raw) {
    frames.push_back({string(frame.function), string(frame.file), frame.line});
    for (const std::uint64_t part :
         {std::uint64_t{frames.back().function}, std::uint64_t{frames.back().file}, frame.line}) {
      key.append(std::to_string(part)).push_back(',');
    }
  }
  const auto [it, fresh] = stack_index_.try_emplace(std::move(key), static_cast<std::uint32_t>(stacks_.size()));
  if (fresh) stacks_.push_back(std::move(frames));
  return it->second;
}

}  // namespace weft::tools
