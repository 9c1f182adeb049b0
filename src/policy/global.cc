// SPDX-License-Identifier: MIT
#include "policy/global.h"

#include "sched/dispatch.h"
#include "sched/scheduler.h"

namespace weft::policy {

using sched::scheduler;

sched::Placed Global::ready(sched::Processor&, sched::Runnable runnable, sched::Hint) noexcept {
  scheduler.inject.push(runnable);
  return sched::Placed::kQueue;
}

sched::Runnable Global::next(sched::Processor& p) noexcept {
  p.slice_tick.bump();
  return sched::take_one_injected(p);
}

// Everything is in the one queue: there is nothing to steal, and nothing is lost by a drain.
sched::Runnable Global::steal(sched::Processor&, bool, const std::uint32_t*) noexcept { return sched::Runnable(); }
bool Global::has_stealable_work(const sched::Processor*) const noexcept { return !scheduler.inject.empty(); }
std::uint32_t Global::backlog(const sched::Processor&) const noexcept {
  return static_cast<std::uint32_t>(scheduler.inject.size());
}
void Global::drain(sched::Processor&, sched::RunnableList&) noexcept {}

}  // namespace weft::policy
