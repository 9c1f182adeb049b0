// SPDX-License-Identifier: MIT
#include "sched/observe/goroutine_name.h"

#include <algorithm>
#include <cstdio>

#include "os/symbolizer.h"
#include "sched/state/spawn.h"

namespace weft::sched {

std::string origin_of(const Goroutine* g) {
  if (g->site == 0) return {};
  void* pc = const_cast<void*>(code_address(g->site));
  std::string where = os::format_frames(&pc, 1, "");
  while (!where.empty() && (where.back() == '\n' || where.back() == ' ')) where.pop_back();
  if (const std::size_t second = where.find('\n'); second != std::string::npos) where.resize(second);
  return " (started " + (g->parent != 0 ? "by goroutine " + std::to_string(g->parent) + " " : "") + "at " + where + ")";
}

std::size_t describe_goroutine(const Goroutine* g, char* buffer, std::size_t size) noexcept {
  const int length = g->name != nullptr
                         ? std::snprintf(buffer, size, "goroutine %llu \"%s\"", static_cast<unsigned long long>(g->id),
                                         g->name->c_str())
                         : std::snprintf(buffer, size, "goroutine %llu", static_cast<unsigned long long>(g->id));
  return length < 0 ? 0 : std::min<std::size_t>(static_cast<std::size_t>(length), size - 1);
}

}  // namespace weft::sched
