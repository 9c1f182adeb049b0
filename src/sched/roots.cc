// SPDX-License-Identifier: MIT
#include "sched/roots.h"

#include <mutex>

#include "sched/scheduler.h"

namespace weft::sched {
namespace {

// The thread that stands on g's stack; 0: none any more.
int thread_on(const Goroutine* g) noexcept {
  std::lock_guard guard(scheduler.machines_lock);
  for (const Machine* m = scheduler.all_machines; m != nullptr; m = m->all_next)
    if (m->guard_slot != nullptr && m->current != nullptr && m->current->g == g) return m->tid;
  return 0;
}

// The visitor's own goroutine: what its callers keep in registers is spilled below `here`'s frame.
__attribute__((noinline)) void visit_own_stack(Goroutine* g, void (*visit)(void*, const Root&),
                                               void* context) noexcept {
  __builtin_unwind_init();
  visit(context, {__builtin_frame_address(0), g + 1, 0});
}

}  // namespace

void visit_roots(void (*visit)(void* context, const Root& root), void* context) noexcept {
  scheduler.records.for_each_slab(
      [&](const std::byte* begin, const std::byte* end) { visit(context, {begin, end, 0}); });
  scheduler.stacks.for_each([&](Goroutine* g) {
    if (g->status.load_relaxed() == GStatus::kDead) return;
    if (g == os::current_g()) {
      visit_own_stack(g, visit, context);
      return;
    }
    const void* sp = g->sp.load_acquire();  // pairs: goroutine.sp
    if (sp != nullptr) {
      visit(context, {sp, g + 1, 0});
    } else {
      visit(context, {g->stack_bottom, g + 1, thread_on(g)});
    }
  });
}

}  // namespace weft::sched
