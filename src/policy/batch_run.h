// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>

// How long one batch runs before the next, and what becomes of it then.
//   Emptied  At some moment of the run no other member was runnable. Then the batch is as it should be: its members wait
//            for each other, and it stays whole. Otherwise it mixes goroutines that have nothing to do with each other,
//            and is split into its first member and the rest. Repeated runs and splits separate unrelated groups.
//   Length   100 us of dispatches, by the P's average, but 16 at least and 1024 at most, and 10 ms by the clock for
//            goroutines that compute. A split or a change of batches costs some cache misses, which a shorter run does
//            not earn back.
//   KRoC     The documents' rule: eight dispatches for each member, 127 at most. Its runs last some 6 us here.
//   Owner    The M of the P.
namespace weft::policy {

class BatchRun {
 public:
  static constexpr std::uint32_t kLeast = 16, kMost = 1024, kLengthNs = 100'000, kLongestMs = 10;
  static constexpr std::uint32_t kKrocEach = 8, kKrocMost = 127;

  enum class End { kNotYet, kByDispatches, kByTime };

  void begin(std::uint32_t average_ns, std::uint32_t now_ms) noexcept {
    begin_with(std::clamp(kLengthNs / (average_ns + 1), kLeast, kMost), now_ms);
  }
  void begin_kroc(std::uint32_t members, std::uint32_t now_ms) noexcept {
    begin_with(std::clamp(members, 1u, 1u + kKrocMost / kKrocEach) * kKrocEach, now_ms);
    left_ = std::min(left_, kKrocMost);
  }

  void count(std::uint32_t dispatches) noexcept { left_ -= std::min(left_, dispatches); }
  void found_empty() noexcept { emptied_ = true; }

  std::uint32_t left() const noexcept { return left_; }
  bool was_emptied() const noexcept { return emptied_; }
  End end(std::uint32_t now_ms) const noexcept {
    if (left_ == 0) return End::kByDispatches;
    return now_ms - began_ms_ > kLongestMs ? End::kByTime : End::kNotYet;
  }

 private:
  void begin_with(std::uint32_t dispatches, std::uint32_t now_ms) noexcept {
    left_ = dispatches;
    began_ms_ = now_ms;
    emptied_ = false;
  }

  std::uint32_t left_ = 0;  // dispatches
  std::uint32_t began_ms_ = 0;
  bool emptied_ = false;
};

}  // namespace weft::policy
