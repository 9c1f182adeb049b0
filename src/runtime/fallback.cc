// SPDX-License-Identifier: MIT
#include "runtime/fallback.h"

#include "base/atomic.h"
#include "runtime/policies.h"
#include "sched/state/scheduler.h"
#include "sched/world/world.h"

namespace weft::runtime {
namespace {

// The policy to come back to; null: no fallback is in force. Changes only while the world is stopped.
constinit base::Atom<sched::Policy*> before{nullptr};

}  // namespace

bool fallback_is_in_force() { return before.load_relaxed() != nullptr; }

void begin_fallback() {
  sched::Policy& global = policy_of(policy_kind::global);
  if (&sched::policy() == &global) return;
  sched::stop_the_world();
  if (sched::Policy& chosen = sched::policy(); &chosen != &global) {
    sched::change_policy(global);
    before.store_relaxed(&chosen);
    sched::scheduler.shared_counters.add(sched::Counter::kFallbacks);
  }
  sched::start_the_world();
}

void end_fallback() {
  sched::stop_the_world();
  if (sched::Policy* chosen = before.exchange_relaxed(nullptr)) sched::change_policy(*chosen);
  sched::start_the_world();
}

void forget_fallback() { before.store_relaxed(nullptr); }

}  // namespace weft::runtime
