// SPDX-License-Identifier: MIT
#include "sched/state/spawn.h"

#include <mutex>

#include "sched/state/batch_members.h"
#include "sched/state/goroutine_labels.h"
#include <utility>

#include "sched/state/locals.h"

namespace weft::detail {
void spawn_anchor() noexcept {}
}  // namespace weft::detail

namespace weft::sched {

Goroutine* take_goroutine_for(Processor& p, Runnable record) noexcept {
  [[maybe_unused]] const arch::FiberUnwatched handed_on;
  SpawnExtra& extra = extra_of(record);
  Goroutine* g = extra.g != nullptr ? extra.g : scheduler.stacks.take(p);
  if (g == nullptr) return nullptr;
  extra.g = nullptr;
  g->flags |= kGDetails;
  if (extra.idle) g->flags |= kGIdle;
  g->id = extra.id;
  g->mark.word.store_relaxed(extra.mark.word.load_relaxed());
  g->parent = extra.parent;
  g->habits.controlled = extra.controlled;
  g->locals = extra.inherited;
  extra.inherited = nullptr;
  if (extra.gang != nullptr) {
    g->flags |= kGMember;
    g->gang = std::exchange(extra.gang, nullptr);
  }
  if (!extra.name.empty()) g->name = new (std::nothrow) std::string(std::move(extra.name));
  arch::fiber_release(record.record());  // the goroutine frees the extra
  return g;
}

void destroy_locals(Goroutine* g) noexcept {
  if (g->locals == nullptr) return;
  g->locals->destroy_values();  // may run user destructors; they may even park
  const Locals* ended;
  {
    const std::lock_guard guard(label_lock_of(g));  // dumps look at the labels of other goroutines
    ended = hide_from_handlers(g->locals);
  }
  delete ended;
}

void clear_details(Goroutine* g) noexcept {
  destroy_locals(g);
  delete hide_from_handlers(g->name);
  g->parent = 0;
  batch_members.leave(g);
  g->flags = static_cast<std::uint8_t>(g->flags & ~(kGDetails | kGIdle | kGExits));
}

}  // namespace weft::sched
