// SPDX-License-Identifier: MIT
#include "sched/observe/leak_roots.h"

#include <cstddef>
#include <cstdint>

#include "base/sanitizer.h"
#include "os/memory.h"
#include "sched/state/scheduler.h"

namespace weft::sched {

#if WEFT_ASAN
namespace {

struct Live {
  const std::uintptr_t* begin;
  const std::uintptr_t* end;
};

// From the stack pointer to the end of the G, which lies at the top of the stack. If the goroutine runs or is in a
// call, its whole stack.
Live live_part(Goroutine* g) noexcept {
  if (g->status.load_relaxed() == GStatus::kDead) return {};
  const void* sp = g->sp.load_acquire();  // pairs: goroutine.sp
  return {reinterpret_cast<const std::uintptr_t*>(sp != nullptr ? sp : g->stack_bottom),
          reinterpret_cast<const std::uintptr_t*>(g + 1)};
}

// Not sanitized, because it also reads the red zones between a frame's variables.
__attribute__((no_sanitize("address"))) void copy_words(std::uintptr_t*& to, Live from) noexcept {
  for (const std::uintptr_t* word = from.begin; word != from.end; ++word) *to++ = *word;
}

}  // namespace

void show_stacks_to_leak_checkers() noexcept {
  std::size_t words = 0;
  scheduler.stacks.for_each([&](Goroutine* g) {
    const Live live = live_part(g);
    words += static_cast<std::size_t>(live.end - live.begin);
  });
  if (words == 0) return;
  // Goroutines that could not be stopped may use more stack meanwhile. So there is room for twice the size, and a stack
  // that does not fit is left out.
  const std::size_t room = 2 * words;
  auto* copy =
      static_cast<std::uintptr_t*>(os::reserve_permanent_memory(room * sizeof(std::uintptr_t), "weft stacks at exit"));
  if (copy == nullptr) return;
  std::uintptr_t* to = copy;
  scheduler.stacks.for_each([&](Goroutine* g) {
    const Live live = live_part(g);
    if (live.end - live.begin <= copy + room - to) copy_words(to, live);
  });
}
#else
void show_stacks_to_leak_checkers() noexcept {}
#endif

}  // namespace weft::sched
