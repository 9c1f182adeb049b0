// SPDX-License-Identifier: MIT
#include "policy/global.h"

#include "sched/core/arrivals.h"
#include "sched/core/dispatch.h"
#include "sched/state/scheduler.h"

namespace weft::policy {

using sched::scheduler;

sched::Place Global::ready(sched::Processor&, sched::Runnable runnable, sched::Why, sched::Known) noexcept {
  scheduler.inject.push(runnable);
  return sched::Place::kOffered;
}

sched::Pick Global::next(sched::Processor& p, sched::Runnable due) noexcept {
  return {due ? due : sched::take_one_injected(p)};
}

// All work waits in the global queue, so there is nothing to steal and nothing to drain.
sched::Theft Global::steal(sched::Processor&, sched::Effort, const std::uint32_t*) noexcept { return {}; }
void Global::drain(sched::Processor&, sched::RunnableList&) noexcept {}

}  // namespace weft::policy
