// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "sched/rule/wake_rule.h"

// Rule R7: sleepers whose time has come together. A few of them that do a little and sleep again are not worth a second
// thread: a thousand such sleepers would keep two cores busy with waking each other.
namespace weft::sched {

class BriefSleepers {
 public:
  // Each takes half a microsecond at least.
  explicit BriefSleepers(std::size_t count) noexcept : count_(count), all_us_(count / 2) {}

  // The next of them is expected to run for run_us. True: it is alone and will be brief, as a ticker is.
  bool add(std::uint32_t run_us) noexcept {
    all_us_ += run_us;
    return count_ == 1 && run_us < rule::kBriefUs;
  }
  // After all of them: one thread suffices.
  bool suit_one_thread() const noexcept { return all_us_ < rule::kBriefTogetherUs; }

 private:
  std::size_t count_;
  std::uint64_t all_us_;
};

}  // namespace weft::sched
