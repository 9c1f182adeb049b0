// SPDX-License-Identifier: MIT
#pragma once
#include "weft/context.h"

namespace weft::detail {

// A callback for the cancellation of a context. `fired` runs under the context's lock, so it must be short and never
// park. After unwatch_context() it neither runs nor will run, so a watch may live on the waiter's stack.
struct context_watch {
  void (*fired)(context_watch*) = nullptr;
  context_watch* next = nullptr;
  context_watch* previous = nullptr;
  bool linked = false;  // under the context's lock
  context_state* on = nullptr;  // kept alive by the caller's handle
};

// False: the context has been cancelled already.
bool watch_context(const context& watched, context_watch& watch);
void unwatch_context(context_watch& watch) noexcept;

}  // namespace weft::detail
