// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>

#include "sched/rule/wake_rule.h"

// Rule R6: how long the passive spinner sleeps between two looks.
//   Usual       kPassiveFirstNs, doubling to kPassiveLimitNs.
//   Suppressed  the same, but it looks around every kSuppressedLookNs at least: it takes only what is worth it, or has
//               not moved.
//   Apart       its P has retreated: from kApartLookNs on.
//   Aged        Work waits on a P that has not moved since the last look. That P has until the next look, which comes
//               after the first pause, not the longest.
namespace weft::sched {

class Pause {
 public:
  enum class Kind : std::uint8_t { kUsual, kSuppressed, kApart };

  explicit Pause(Kind kind) noexcept
      : first_ns_(kind == Kind::kApart ? rule::kApartLookNs : rule::kPassiveFirstNs), ns_(first_ns_) {}

  std::int64_t ns() const noexcept { return ns_; }
  // After a look; `kind` as it is now.
  void look_again(Kind kind, bool sees_aged_work) noexcept {
    const std::int64_t longest = kind == Kind::kSuppressed ? rule::kSuppressedLookNs : rule::kPassiveLimitNs;
    ns_ = sees_aged_work ? first_ns_ : std::min(ns_ * 2, longest);
  }

 private:
  std::int64_t first_ns_, ns_;
};

}  // namespace weft::sched
