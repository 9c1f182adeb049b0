// SPDX-License-Identifier: MIT
#include "sched/observe/unstarted.h"

#include "sched/state/scheduler.h"
#include "sched/state/spawn.h"

namespace weft::sched {
namespace {

Unstarted describe(Runnable record) {
  Unstarted found;
  found.site = record.record()->site;
  if (record.has_extra()) {
    const SpawnExtra& extra = extra_of(record);
    found.id = extra.id;
    found.parent = extra.parent;
    found.name = extra.name;
  }
  return found;
}

bool stands_still(const Processor& p) noexcept {
  const PStatus status = p.status();
  return status == PStatus::kIdle || status == PStatus::kStopped || &p == os::current_p();
}

}  // namespace

std::vector<Unstarted> unstarted_goroutines() {
  std::vector<Unstarted> all;
  const auto visit = [&](Runnable one) {
    if (one && one.is_record()) all.push_back(describe(one));
  };
  for (std::uint32_t i = 0; i < maxprocs(); ++i) {
    const Processor& p = *scheduler.processors[i];
    if (!stands_still(p)) continue;
    visit(p.slot.look());
    policy().visit(p, {[](void* context, Runnable one) { (*static_cast<const decltype(visit)*>(context))(one); },
                       const_cast<void*>(static_cast<const void*>(&visit))});
  }
  for (InjectQueue* queue : {&scheduler.inject, &scheduler.idle_priority, &scheduler.starved}) queue->for_each(visit);
  return all;
}

void visit_unstarted_unlocked(void (*visit)(void* context, Runnable one), void* context) noexcept {
  const auto each = [&](Runnable one) { visit(context, one); };
  for (std::uint32_t i = 0; i < maxprocs(); ++i) {
    const Processor& p = *scheduler.processors[i];
    visit(context, p.slot.look());
    policy().visit(p, {[](void* to, Runnable one) { (*static_cast<const decltype(each)*>(to))(one); },
                       const_cast<void*>(static_cast<const void*>(&each))});
  }
  for (const InjectQueue* queue : {&scheduler.inject, &scheduler.idle_priority, &scheduler.starved})
    queue->for_each_unlocked(each);
}

}  // namespace weft::sched
