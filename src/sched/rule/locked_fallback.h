// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// When a program with very many thread-locked goroutines goes to the global policy, and when it comes back. Each of
// them has a thread of its own, so the queues of the Ps hold little else than hand-overs between threads.
//   There    More than `limit` are locked at kRoundsThere looks in a row.
//   Back     Less than half of that are locked at kRoundsBack looks in a row. Half, and more looks, because each change
//            stops the world: a number that swings around the limit must not change the policy with each swing.
//   Owner    sysmon.
namespace weft::sched {

class LockedFallback {
 public:
  static constexpr int kRoundsThere = 2, kRoundsBack = 10;
  enum class Advice : std::uint8_t { kStay, kGoThere, kComeBack };

  // 0 locked goroutines are never too many, so a limit of 0 means "any".
  explicit constexpr LockedFallback(std::uint32_t limit) noexcept : limit_(limit) {}

  // One look. is_there: the fallback is in force.
  Advice look(std::uint32_t locked, bool is_there) noexcept {
    if (is_there != was_there_) rounds_ = 0;  // a choice of the user's, too, begins the count anew
    was_there_ = is_there;
    const bool speaks_for_change = is_there ? is_few(locked) : locked > limit_;
    rounds_ = speaks_for_change ? rounds_ + 1 : 0;
    if (rounds_ < (is_there ? kRoundsBack : kRoundsThere)) return Advice::kStay;
    rounds_ = 0;
    return is_there ? Advice::kComeBack : Advice::kGoThere;
  }

 private:
  bool is_few(std::uint32_t locked) const noexcept { return locked == 0 || 2 * std::uint64_t{locked} < limit_; }

  std::uint32_t limit_;
  bool was_there_ = false;
  int rounds_ = 0;  // looks in a row that speak for a change
};

}  // namespace weft::sched
