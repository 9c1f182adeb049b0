// SPDX-License-Identifier: MIT
#include "sched/core/theft.h"

#include "sched/core/left_behind.h"
#include "sched/core/preempt.h"

namespace weft::sched {

Runnable steal(Processor& p, bool desperate, const Ticks* seen) noexcept {
  p.counters.bump(Counter::kStealsTried);
  const Effort effort = desperate ? Effort::kDesperate : Effort::kUsual;
  const Theft theft = policy().steal(p, effort, seen != nullptr ? seen->at : nullptr);
  if (WEFT_UNLIKELY(theft.ask != nullptr)) request_preemption(*theft.ask);
  Runnable stolen = theft.what;
  if (!stolen) stolen = take_from_inboxes(p);
  if (!stolen && desperate) stolen = take_from_aged_slots(p, seen->at);
  if (stolen) p.counters.bump(Counter::kStealsWon);
  return stolen;
}

}  // namespace weft::sched
