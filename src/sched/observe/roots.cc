// SPDX-License-Identifier: MIT
#include "sched/observe/roots.h"

#include <cstddef>
#include <mutex>

#include "arch/interrupted_frame.h"
#include "sched/core/hold.h"
#include "sched/state/scheduler.h"

namespace weft::sched {
namespace {

// The M whose thread runs on g's stack; null: none any more. It cannot end meanwhile, because the world is stopped.
const Machine* machine_on(const Goroutine* g) noexcept {
  std::lock_guard guard(scheduler.machines_lock);
  for (const Machine* m = scheduler.all_machines; m != nullptr; m = m->all_next)
    if (m->guard_slot != nullptr && m->current != nullptr && m->current->g == g) return m;
  return nullptr;
}

// A goroutine in a blocking call, or an exile. A held exile stands still, and its registers are where the signal has
// saved them.
void visit_outside(Goroutine* g, void (*visit)(void*, const Root&), void* context) noexcept {
  const Machine* m = machine_on(g);
  const bool held = m != nullptr && is_held(m->hold);
  visit(context, {g->stack_bottom, g + 1, m != nullptr && !held ? m->tid : 0});
  if (!held) return;
  const void* interrupted = m->hold.context.load_relaxed();
  visit(context, {interrupted, static_cast<const std::byte*>(interrupted) + arch::bytes_of_context(), 0});
  if (const arch::SavedVectors vectors = arch::saved_vectors(interrupted); vectors.begin != nullptr)
    visit(context, {vectors.begin, vectors.end, 0});
}

// The visitor's own goroutine. __builtin_unwind_init() spills into this frame what its callers keep in registers.
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
      visit_outside(g, visit, context);
    }
  });
}

}  // namespace weft::sched
