// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "os/spin_lock.h"
#include "trace/stack_table.h"

// Strings and stacks of one generation, each written once and named by a number in events.
//   Owned by  one lock. Threads keep the numbers of the stacks they met last (lane.h), so only strings and new stacks
//             take it.
//   Bounded   When a table is full, further entries get number 0, "none", until the next generation.
namespace weft::trace {

class Tables {
 public:
  static constexpr std::size_t kMaxStringBytes = 16 * 1024 * 1024;

  Tables() { stacks_.reserve(); }
  // Texts that have fixed numbers in each generation: 1, 2, ...
  void fix_strings(const std::vector<std::string>& texts);

  std::uint32_t string(std::string_view text) noexcept;                          // cut at format::kMaxString
  std::uint32_t stack(std::uint64_t hash, std::span<void* const> pcs) noexcept;  // also in a signal handler
  bool is_half_full() const noexcept { return is_half_full_.load_relaxed(); }

  // Without concurrent users: appends the batches of both tables, with symbolised frames,
  // and forgets all but the fixed strings.
  void write_and_clear(std::uint64_t generation, std::uint64_t time, std::string& out);
  void clear();

 private:
  std::uint32_t string_locked(std::string_view text);

  os::SpinLock lock_;
  std::vector<std::string> strings_;  // number n is strings_[n - 1]
  std::unordered_map<std::string, std::uint32_t> string_numbers_;
  std::size_t fixed_ = 0;
  std::size_t string_bytes_ = 0;
  StackTable stacks_;
  base::Atom<bool> is_half_full_{false};
};

}  // namespace weft::trace
