// SPDX-License-Identifier: MIT
#include "sched/state/network_watch.h"

#include "os/clock.h"
#include "sched/state/scheduler.h"

namespace weft::sched {

bool network_unwatched_for(std::int64_t ns) noexcept {
  // Relaxed loads, because these are hints: a thread that acts on them looks again, and sysmon comes by.
  const NetworkWatch& network = scheduler.network;
  if (network.registered.load_relaxed() == 0 || network.blocked.load_relaxed() != nullptr) return false;
  return ns == 0 || os::now_ns() - network.looked_at_ns.load_relaxed() >= ns;
}

void look_at_network(RunnableList& ready) noexcept {
  NetworkWatch& network = scheduler.network;
  if (network.looking.load_relaxed() || network.looking.exchange_acquire(true)) return;  // pairs: network.looking
  network.source.load_acquire()->look(ready);                                            // pairs: network.source
  network.looked_at_ns.store_relaxed(os::now_ns());
  network.looking.store_release(false);  // pairs: network.looking
}

}  // namespace weft::sched
