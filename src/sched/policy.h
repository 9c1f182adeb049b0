// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/processor.h"
#include "sched/runnable.h"

// The questions the mechanism asks of a scheduling policy: where work goes, what is next, what a thief may take.
//   Split    moving goroutines between queues is the policy's; parking, waking, timers, blocking calls, stopping the world
//            and locked threads are the mechanism's. A policy never blocks and never wakes anybody.
//   Live     set_policy() stops the world, drains the old policy into a list and injects it into the new one.
namespace weft::sched {

enum class PolicyKind : std::uint8_t { kClassic, kGlobal, kBatch };

// Why something becomes runnable.
enum class Hint : std::uint8_t {
  kSpawn,
  kWake,
  kYield,    // behind everything else that has started
  kInTurn,   // behind everything else in the order of arrival, started or not
  kVisible,  // where thieves see it at once: the waker is known to compute on
};

// Where it went, so that the mechanism knows whom to wake.
enum class Placed : std::uint8_t {
  kSlot,   // runs next on this P: another core is rarely worth waking
  kQueue,  // waits behind other work: an idle core should have it
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual PolicyKind kind() const noexcept = 0;

  // Owner of p. Makes it runnable.
  virtual Placed ready(Processor& p, Runnable runnable, Hint hint) noexcept = 0;
  // Owner of p. What to run now; none: p is out of work.
  virtual Runnable next(Processor& p) noexcept = 0;
  // Owner of thief. Takes work of other Ps. `desperate`: also what an ordinary thief leaves alone (slots of Ps whose tick is
  // still seen_ticks[id]).
  virtual Runnable steal(Processor& thief, bool desperate, const std::uint32_t* seen_ticks) noexcept = 0;
  // Anybody: is there work that p could take? Re-check after giving up a P, deadlock test.
  virtual bool has_stealable_work(const Processor* except) const noexcept = 0;
  // Length of what waits on p (without the slot): for the wake rule and statistics.
  virtual std::uint32_t backlog(const Processor& p) const noexcept = 0;
  // World stopped (or p about to disappear): everything p holds.
  virtual void drain(Processor& p, RunnableList& out) noexcept = 0;
  // Does the waker choose what the woken M runs (the hand-off of the pre-1.1 scheduler)?
  virtual bool hands_off() const noexcept { return false; }
  // Does ready() put what wakes up into the P's slot whenever that is empty?
  virtual bool fills_slot() const noexcept { return false; }
};

}  // namespace weft::sched
