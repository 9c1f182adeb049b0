// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "os/current.h"
#include "os/ranked_mutex.h"
#include "sched/memory/record_pool.h"
#include "sched/memory/stack_pool.h"
#include "sched/memory/starvation.h"
#include "sched/model/goroutine.h"
#include "sched/model/machine.h"
#include "sched/model/policy.h"
#include "sched/model/processor.h"
#include "sched/model/settings.h"
#include "sched/model/work_source.h"
#include "sched/queue/idle_word.h"
#include "sched/queue/inject_queue.h"

// The scheduler: goroutines (G) are run by threads (M) that hold a processor (P).
//   Read next   status.h (states, owners), run_queue.h, record_deque.h, idle_word.h (the lock-free parts), dispatch.h (park,
//               ready, switch), search.cc (find work, spin, retire), machines.h (threads), handoff.h (blocking calls),
//               world.h (stop, resize), policy.h (what a policy answers).
//   Invariants  S1 an M runs goroutine code only with a P; a P is wired to at most one M.
//               S2 exactly `maxprocs` Ps are in use: processors[0, maxprocs).
//               S3 spinning Ms <= maxprocs.
//               S4 runnable work and an idle P: some M is spinning (perhaps asleep with a short timer) or has been woken; or the
//                  work is a few sleepers known to run briefly, on a P that is at them (search.cc), with sysmon as the bound.
//   Waking      rule R (idle_word.h W2, search.cc): waking a core costs 20-50 us, so a pair of goroutines that chat on one P
//               wakes nobody, a thief that finds only crumbs sleeps longer, and whoever computes on after waking another is
//               recognised. The price is a bound instead of immediacy: kPassiveLimitNs.
namespace weft::sched {

// An M that sleeps with a deadline on behalf of timers; whoever adds one that is due before until_ns interrupts it.
struct Watcher {
  base::Atom<Machine*> m{nullptr};
  base::Atom<std::int64_t> until_ns{0};
};

struct Scheduler {
  // --- read-mostly ---
  base::Atom<Policy*> policy{nullptr};  // changes only while the world is stopped
  Starvation starvation;
  std::uintptr_t guard_distance = 0;             // from a G with a default stack down to its guard (preempt.h)
  base::Atom<int> preempt_signal{0};             // 0: none, or the system refuses to send it
  base::Atom<std::uint32_t> processors_made{0};  // at most so many have ever been in use; their counters still count
  base::Atom<std::uint32_t> maxprocs{0};         // changes only while the world is stopped
  Processor* processors[kMaxProcessors] = {};
  base::Atom<bool> started{false};
  base::Atom<bool> forked{false};   // the child of a fork: there is no runtime here, and never will be
  std::int32_t exiting_thread = 0;  // its id; written before `exiting`
  base::Atom<bool> exiting{false};  // the process is leaving: whoever enters the scheduler stays
  base::Atom<bool> world_stopping{false};
  base::Atom<bool> overcommitted{false};   // more Ps than CPUs
  base::Atom<std::uint32_t> coarse_ms{0};  // sysmon's clock, for wait times
  base::Atom<bool> sites_block{false};        // goroutines of some spawn site block their threads (lease.h)
  base::Atom<std::uint32_t> plain_calls{0};   // found by signal so far
  base::Atom<std::int64_t> far_from_ns{
      os::kForever};  // timers later than this are far: sysmon sees to them (timer_watch.h)

  // --- work ---
  IdleWord<> idle;
  alignas(base::kCacheLine) InjectQueue inject;
  InjectQueue idle_priority;  // A44
  InjectQueue starved;        // records waiting for a stack to become free
  StackPool stacks;
  RecordPool records;
  CounterSet shared_counters;  // bumped with add() by threads without a P
  alignas(base::kCacheLine) base::Atom<std::uint64_t> next_id_range{1};
  Watcher poller, passive;
  base::Atom<Processor*> retreat_on_trial{nullptr};  // sysmon judges whether it was right to retreat (retreat_trial.h)
  base::Atom<std::int64_t> no_retreat_before_ns{0};
  base::Atom<std::int64_t> passive_apart_ns{0};  // the passive M's P has retreated, and is called back not before; 0: it has not
  alignas(base::kCacheLine) NetworkWatch network;

  // --- threads ---
  alignas(base::kCacheLine) os::RankedMutex<base::Rank::kMachines> machines_lock;
  Machine* idle_machines = nullptr;  // LIFO
  std::uint32_t idle_machine_count = 0;
  Machine* all_machines = nullptr;
  Machine* free_machines = nullptr;
  base::Atom<std::uint32_t> threads{0};
  base::Atom<std::uint64_t> threads_created{0};
  std::uint32_t next_machine_id = 1;
  base::Atom<std::int64_t> next_thread_at_ns{0};  // A55: when the timer allows another one
  base::Atom<bool> thread_wanted{false};          // a P waits for a thread that could not be started yet
  base::Atom<std::uint32_t> locked_machines{0};
  base::Atom<std::uint32_t> spinning_max{0};
  base::Atom<bool> sysmon_asleep{false};          // every P was idle: who takes one wakes it
  base::Atom<bool> sysmon_slow{false};            // sysmon looks seldom: poke it when a call leaves work behind
  base::Atom<std::uint32_t> exiles{0};            // goroutines computing on without a P
  base::Atom<std::uint32_t> waiting_spinners{0};  // type 2: Ms without a P that look for one
  base::Atom<bool> loan_wanted{false};   // sysmon wants a P to lie idle while an exile computes (exile_shares.h)
  base::Atom<Processor*> lent{nullptr};  // that P: owned by who takes it from here

  // --- blocking calls, plain threads ---
  alignas(base::kCacheLine) base::Atom<std::int64_t> in_call{0};  // goroutines in calls whose P was taken away
  base::Atom<std::int64_t> threads_waiting{0};  // plain threads blocked in a primitive without a time limit
  base::Atom<std::int64_t> runs_waiting{0};     // plain threads blocked in run()
  base::Atom<std::uint64_t> main_exited{0};     // main goroutines that left by this_goroutine::exit()

  // --- world (Rank::kWorld by way of world.h) ---
  base::Atom<std::uint32_t> stop_wait{0};
  os::Note stopped_note;
  os::Note held_note;  // an exile stands still (hold.h)
  base::Atom<std::uint64_t> stw_count{0}, stw_last_ns{0}, stw_max_ns{0};
};

// One per process; constant-initialised, so that it can be used before and after main.
extern Scheduler scheduler;

// Acquire: observers that see a policy see what it keeps of each P.
inline Policy& policy() noexcept { return *scheduler.policy.load_acquire(); }  // pairs: policy

// Acquire: who sees a number of Ps sees them made.
inline std::uint32_t maxprocs() noexcept { return scheduler.maxprocs.load_acquire(); }  // pairs: maxprocs

inline void count(Processor* p, Counter counter, std::uint64_t by = 1) noexcept {
  if (p != nullptr) {
    p->counters.bump(counter, by);
  } else {
    scheduler.shared_counters.add(counter, by);
  }
}

std::uint64_t total(Counter counter) noexcept;

inline std::uint64_t new_goroutine_id(Processor& p) noexcept {
  if (WEFT_UNLIKELY(p.next_id == p.id_limit)) {
    constexpr std::uint64_t kRange = 1024;
    p.next_id = scheduler.next_id_range.fetch_add_relaxed(kRange);  // uniqueness is all that matters
    p.id_limit = p.next_id + kRange;
  }
  return p.next_id++;
}

}  // namespace weft::sched
