// SPDX-License-Identifier: MIT
#pragma once
#include "api/context_watch.h"
#include "os/spin_lock.h"

#include "model/api/world.h"

// Contexts for the models of what waits with one: only cancelling, and the watches that hear of it, under one lock
// as in api/context.cc. Defines functions: for one source of a program.
namespace weft::detail {

struct context_state {
  os::SpinLock lock;
  base::Atom<bool> cancelled{false};
  base::Atom<std::uint32_t> references{1};
  context_watch* watches = nullptr;
};

void retain_context(context_state* state) noexcept { state->references.fetch_add_relaxed(1); }
void release_context(context_state* state) noexcept {
  if (state->references.fetch_sub_acq_rel(1) == 1) delete state;
}
context make_cancellable(const context&, time_limit) { return context(new context_state); }

void cancel_context(context_state* state, std::error_code, std::exception_ptr) {
  state->lock.lock();
  state->cancelled.store_release(true);
  while (context_watch* watch = state->watches) {
    state->watches = watch->next;
    watch->linked = false;
    watch->fired(watch);
  }
  state->lock.unlock();
}

bool watch_context(const context& watched, context_watch& watch) {
  watch.on = watched.state_;
  if (watch.on == nullptr) return true;
  watch.on->lock.lock();
  const bool too_late = watch.on->cancelled.load_relaxed();
  if (!too_late) {
    watch.next = watch.on->watches;
    watch.on->watches = &watch;
    watch.linked = true;
  }
  watch.on->lock.unlock();
  return !too_late;
}

void unwatch_context(context_watch& watch) noexcept {
  if (watch.on == nullptr) return;
  watch.on->lock.lock();
  for (context_watch** at = &watch.on->watches; watch.linked && *at != nullptr; at = &(*at)->next)
    if (*at == &watch) {
      *at = watch.next;
      watch.linked = false;
      break;
    }
  watch.on->lock.unlock();
}

}  // namespace weft::detail

namespace weft {

bool context::cancelled() const noexcept { return state_ != nullptr && state_->cancelled.load_acquire(); }

}  // namespace weft
