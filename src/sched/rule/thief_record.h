// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/rule/wake_rule.h"

// Rule R4: was stealing worth it of late?
//   Judged      when the M looks for work again: what it stole kept it busy for less than kProductiveUs, or not. Time
//               in barriers does not count, because then what it stole was waiting for a lock biased to another M.
//   Suppressed  from the second fruitless steal in a row on. The M then does not spin, and is woken only for a backlog
//               (R8). Each suppression is twice as long as the one before, until a steal was worth it. Without that,
//               three goroutines that chat on one P would lose some per cent of their speed to a thief that tries again
//               every 50 us.
//   Owner       the M, which tells the time: ticks of the CPU's clock for steals, nanoseconds for suppressions.
namespace weft::sched {

class ThiefRecord {
 public:
  bool suppressed() const noexcept { return fruitless_ >= rule::kFruitlessLimit; }

  // The M leaves its search, with something that it stole at `ticks` or, for 0, with something else.
  void note_steal(std::uint64_t ticks) noexcept { stole_at_ = ticks; }
  // The M searches again.
  void judge(std::uint64_t now_ticks, std::uint64_t productive_ticks) noexcept {
    if (stole_at_ == 0) return;
    const std::uint64_t busy = now_ticks - stole_at_;
    stole_at_ = 0;
    if (busy >= productive_ticks) {
      clear();
    } else if (fruitless_ < rule::kFruitlessMost) {
      ++fruitless_;
    }
  }
  bool wants_judgement() const noexcept { return stole_at_ != 0; }

  // A steal was worth it, or a waker with urgent work has called.
  void clear() noexcept {
    fruitless_ = suppressions_ = 0;
    suppressed_until_ns_ = 0;
  }
  // Another try. Suppressions go on to be longer each time if it fails.
  void forgive() noexcept { fruitless_ = 0; }
  // The M has stolen without being called: one more fruitless steal suppresses it.
  void put_on_probation() noexcept {
    if (fruitless_ == 0) fruitless_ = 1;
  }

  // Begins a suppression, or goes on with the one that a waker interrupted.
  void begin_suppression(std::int64_t now_ns) noexcept {
    if (now_ns < suppressed_until_ns_) return;
    if (now_ns > suppressed_until_ns_ + rule::kForgottenNs) suppressions_ = 0;
    suppressed_until_ns_ = now_ns + (rule::kPassiveFirstNs << suppressions_);
    if (suppressions_ < rule::kMostSuppressions) ++suppressions_;
  }
  void end_suppression() noexcept { suppressed_until_ns_ = 0; }
  bool suppression_is_over(std::int64_t now_ns) const noexcept { return now_ns >= suppressed_until_ns_; }

 private:
  std::uint32_t fruitless_ = 0;     // steals in a row that were not worth it
  std::uint32_t suppressions_ = 0;  // how often in a row it was suppressed for that
  std::int64_t suppressed_until_ns_ = 0;
  std::uint64_t stole_at_ = 0;
};

}  // namespace weft::sched
