// SPDX-License-Identifier: MIT
#pragma once
#include "weft/context.h"

namespace weft::detail {

// Told when a context is cancelled. `fired` runs under the context's lock: short, never parking; after unwatch_context() it is
// not running and will not run, so a watch may live on the stack of whoever waits.
struct context_watch {
  void (*fired)(context_watch*) = nullptr;
  context_watch* next = nullptr;
  context_watch* previous = nullptr;
  bool linked = false;  // under the context's lock
  context_state* on = nullptr;  // kept alive by the caller's handle
};

// False: it has been cancelled already.
bool watch_context(const context& watched, context_watch& watch);
void unwatch_context(context_watch& watch) noexcept;

}  // namespace weft::detail
