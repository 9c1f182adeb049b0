// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace_reader/timeline.h"
#include "trace_reader/trace_file.h"

namespace weft::tools {

// Gives each distinct string and stack one index for the whole trace,
// because their numbers in the file change with the generation.
class TimelineTables {
 public:
  TimelineTables() { string(""); }

  void generation(const Generation& generation) {
    generation_ = &generation;
    string_cache_.clear();
    stack_cache_.clear();
  }

  std::uint32_t string(std::string_view text) {
    const auto [it, fresh] = string_index_.try_emplace(std::string(text), static_cast<std::uint32_t>(strings_.size()));
    if (fresh) strings_.emplace_back(text);
    return it->second;
  }

  std::uint32_t string_id(std::uint64_t id) {
    const auto [it, fresh] = string_cache_.try_emplace(id, 0);
    if (fresh) it->second = string(generation_->string(id));
    return it->second;
  }

  std::uint32_t stack_id(std::uint64_t id) {
    if (id == 0) return kNoIndex;
    const auto [it, fresh] = stack_cache_.try_emplace(id, kNoIndex);
    if (fresh) it->second = stack(generation_->stack(id));
    return it->second;
  }

  const std::vector<StackFrame>& frames(std::uint32_t stack) const { return stacks_[stack]; }
  std::vector<std::string> take_strings() { return std::move(strings_); }
  std::vector<std::vector<StackFrame>> take_stacks() { return std::move(stacks_); }

 private:
  std::uint32_t stack(const std::vector<Frame>& raw);

  const Generation* generation_ = nullptr;
  std::vector<std::string> strings_;
  std::vector<std::vector<StackFrame>> stacks_;
  std::unordered_map<std::string, std::uint32_t> string_index_;
  std::unordered_map<std::string, std::uint32_t> stack_index_;
  std::unordered_map<std::uint64_t, std::uint32_t> string_cache_;
  std::unordered_map<std::uint64_t, std::uint32_t> stack_cache_;
};

}  // namespace weft::tools
