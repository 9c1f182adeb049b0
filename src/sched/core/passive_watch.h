// SPDX-License-Identifier: MIT
#pragma once
#include "sched/core/theft.h"
#include "sched/rule/pause.h"

// The passive spinner: an M that has spun in vain keeps its P and counts as a spinner, but sleeps with a timer (rule
// R6). One M has that role at a time.
//   Looks    After each pause it takes what has not moved since the look before, and what else the usual search would
//            find.
//   Suppressed  after fruitless steals (R4): it is woken only for a backlog (R8). It still looks around, but takes only
//            what is worth it or has not moved.
//   Apart    Its P has retreated (retreat.h), so it is suppressed for as long as that lasts.
namespace weft::sched {

class PassiveWatch {
 public:
  PassiveWatch(Machine& m, Ticks& seen) noexcept : m_(m), seen_(seen) {}

  // False: another M has that role.
  bool claim() noexcept;

  // Sleeps and looks until there is something to run, which it returns, or a reason to go through the whole search
  // again (none).
  Runnable run() noexcept;

 private:
  Pause::Kind kind() const noexcept {
    return apart_ ? Pause::Kind::kApart : suppressed_ ? Pause::Kind::kSuppressed : Pause::Kind::kUsual;
  }
  Runnable sleep_and_look() noexcept;
  bool sleep(std::int64_t period) noexcept;
  void note_call() noexcept;
  Runnable look() noexcept;
  bool stays_suppressed(const Processor& p) noexcept;

  Machine& m_;
  Ticks& seen_;
  bool suppressed_ = false;
  bool apart_ = false;  // and so suppressed
};

// Beside another busy P a spinner is wanted (W2 in idle_word.h).
bool another_is_busy(const Processor& p) noexcept;

}  // namespace weft::sched
