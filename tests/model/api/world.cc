// SPDX-License-Identifier: MIT
#include "model/api/world.h"

#include <cstdlib>
#include <new>

// relacy defines the plain forms for those who include it; these go the same way, wherever they are called from.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return ::operator new(size); }
void operator delete(void* memory, std::size_t) noexcept { ::operator delete(memory); }

namespace weft::model {
// Emitted for the standard library, which allocates and frees inside, too: both go to relacy, or neither.
void (*volatile const used_by_libraries)(void*) = &::operator delete;
}  // namespace weft::model

namespace weft::sched {

void begin_wait(Goroutine* g, WaitReason, const void*) {
  RL_ASSERT(!g->is_waiting && !g->is_ready);
  g->is_waiting = true;
}

void call_off_wait(Goroutine* g) {
  RL_ASSERT(g->is_waiting && !g->is_ready);  // somebody has woken it although it was never published
  g->is_waiting = false;
}

void park() {
  Goroutine* g = os::current_g();
  while (g->woken.load_acquire() == 0) os::futex_wait(g->woken, 0);
  g->woken.store_relaxed(0);
  g->is_waiting = g->is_ready = false;
}

void ready(Goroutine* g) {
  RL_ASSERT(g->is_waiting && !g->is_ready);  // a second wake-up, or one for somebody who runs
  g->is_ready = true;
  ++world->wakes;
  g->woken.exchange_acq_rel(1);
  os::futex_wake(g->woken);
}

void collect(Goroutine* g, RunnableList&) { ready(g); }

void yield() { rl::yield(1, RL_INFO); }

}  // namespace weft::sched

namespace weft::base {

void fatal(const char*, ...) noexcept {
  RL_ASSERT(!"fatal()");
  std::abort();
}

}  // namespace weft::base
