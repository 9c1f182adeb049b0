// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>

#include "sched/rule/wake_rule.h"

// Rule R5: what a goroutine did so far, to predict what it will do.
//   Long runner   It computes on after it has woken another goroutine, which waits in its P's slot meanwhile. It is
//                 sampled now and then (state/run_sample.h): a long run counts two, a short one takes one back.
//   Short runner  Its last runs were brief. What it wakes runs soon, so no core need be woken for that.
//   Watched       A long runner's runs are all sampled, and what it wakes goes to where thieves see it.
namespace weft::sched {

struct RunHabits {                                 // eight bytes, cleared in one store
  static constexpr std::uint8_t kShortRunner = 2;  // so many brief runs in a row: the next one is expected to be brief
  static constexpr std::uint8_t kLongRunnerMost = 4;

  std::uint8_t long_runner = 0;
  std::uint8_t short_runner = 0;
  std::uint8_t watched = 0;
  std::uint8_t long_calls = 0;   // predicts whether its next blocking call will be long (call_habit.h)
  std::uint8_t plain_calls = 0;  // the same for calls that it does not announce (core/lease.h)
  std::uint8_t controlled = 0;   // no habit: a test decides when it runs (state/control.h)
  std::uint8_t batch[2] = {};    // which goroutines it talks with (state/batch_members.h)

  bool runs_briefly() const noexcept { return short_runner >= kShortRunner; }

  // A sampled run after a wake-up has ended.
  void note_sample(bool was_long) noexcept {
    if (was_long) {
      short_runner = 0;
      long_runner = static_cast<std::uint8_t>(std::min<int>(long_runner + 2, kLongRunnerMost));
    } else {
      if (short_runner < kShortRunner) ++short_runner;
      if (long_runner > 0) --long_runner;
    }
    watched = long_runner > 1;
  }
  // A thief found work waiting in the slot while this goroutine computed.
  void note_caught() noexcept {
    long_runner = kLongRunnerMost;
    watched = 1;
  }
  // It goes to sleep after a run of so many us.
  void note_run_before_sleep(std::uint64_t run_us) noexcept {
    short_runner = run_us < rule::kBriefUs ? kShortRunner : std::uint8_t{0};
  }
};

static_assert(sizeof(RunHabits) == 8);

}  // namespace weft::sched
