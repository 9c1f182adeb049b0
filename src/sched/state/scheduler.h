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
//   Read next   status.h (states, owners), run_queue.h, record_deque.h, idle_word.h (the lock-free parts), dispatch.h
//               (park, yield, the switch), arrivals.h (ready), search.cc (find work, spin, retire), machines.h
//               (threads), handoff.h (blocking calls), world.h (stop, resize), policy.h (what a policy answers).
//   Invariants  S1 An M runs goroutine code only with a P, except in blocking calls (handoff.h) and for exiles
//                  (preempt.h). A P is wired to at most one M.
//               S2 Exactly `maxprocs` Ps are in use: processors[0, maxprocs).
//               S3 At most `maxprocs` Ms spin.
//               S4 If there is runnable work and an idle P, then some M spins (perhaps asleep with a short timer) or
//                  has been woken. Exception: the work is a few sleepers that are known to run briefly, on a P that is
//                  running them (rule R7). There sysmon is the bound.
//   Waking      Rule R (rule/wake_rule.h): waking a core costs 20-50 us. So two goroutines that talk to each other on
//               one P wake no other core, a thief that finds only crumbs sleeps longer, and a goroutine that computes on
//               after waking another is recognised. The price is a bound instead of immediacy: rule::kPassiveLimitNs.
namespace weft::sched {

// An M that sleeps until timers are due. A thread that adds a timer that is due before until_ns interrupts the M.
struct Watcher {
  base::Atom<Machine*> m{nullptr};
  base::Atom<std::int64_t> until_ns{0};
};

struct Scheduler {
  // --- read-mostly ---
  base::Atom<Policy*> policy{nullptr};  // changes only while the world is stopped
  Starvation starvation;
  std::uintptr_t guard_distance = 0;             // from a G with a default stack down to its stack guard (preempt.h)
  base::Atom<int> preempt_signal{0};             // 0: there is none, or the system refuses to send it
  base::Atom<std::uint32_t> processors_made{0};  // Ps that were ever made; their counters still count
  base::Atom<std::uint32_t> maxprocs{0};         // changes only while the world is stopped
  Processor* processors[kMaxProcessors] = {};
  base::Atom<bool> started{false};
  base::Atom<bool> forked{false};   // this is the child of a fork, which has no runtime and never will
  std::int32_t exiting_thread = 0;  // id of the thread in exit(); written before `exiting`
  base::Atom<bool> exiting{false};  // the process exits: a thread that enters the scheduler stays there
  base::Atom<bool> world_stopping{false};
  base::Atom<bool> overcommitted{false};   // more Ps than CPUs
  base::Atom<std::uint32_t> coarse_ms{0};  // sysmon's clock, for wait times
  base::Atom<bool> sites_block{false};        // goroutines of some spawn site block their threads (lease.h)
  base::Atom<std::uint32_t> plain_calls{0};   // unannounced calls found by signal so far (plain_call_watch.h)
  // Timers later than this are far: sysmon reminds the watchers of them (watcher.h).
  base::Atom<std::int64_t> far_from_ns{os::kForever};

  // --- work ---
  IdleWord<> idle;
  alignas(base::kCacheLine) InjectQueue inject;
  InjectQueue idle_priority;  // A44 (idle priority): for Ms that have found nothing else
  InjectQueue starved;        // records waiting for a stack to become free
  StackPool stacks;
  RecordPool records;
  CounterSet shared_counters;  // bumped with add() by threads without a P
  alignas(base::kCacheLine) base::Atom<std::uint64_t> next_id_range{1};
  Watcher poller, passive;
  base::Atom<Processor*> retreat_on_trial{nullptr};  // sysmon judges if this P was right to retreat (retreat_trial.h)
  base::Atom<std::int64_t> no_retreat_before_ns{0};
  // If the passive spinner's P has retreated: it is not called back before this time. 0: it has not retreated.
  base::Atom<std::int64_t> passive_apart_ns{0};
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
  base::Atom<std::int64_t> next_thread_at_ns{0};  // A55 (paced thread creation): beyond the prompt ones, none before
  base::Atom<bool> thread_wanted{false};          // a P waits for a thread that could not be started yet
  base::Atom<std::uint32_t> locked_machines{0};
  base::Atom<std::uint32_t> locked_goroutines{0};  // wired to their threads, running or not
  base::Atom<std::uint32_t> spinning_max{0};
  base::Atom<bool> sysmon_asleep{false};          // every P was idle: the thread that takes one wakes sysmon
  base::Atom<bool> sysmon_slow{false};            // sysmon looks rarely: a call that leaves work behind pokes it
  base::Atom<std::uint32_t> exiles{0};            // goroutines computing on without a P
  base::Atom<std::uint32_t> waiting_spinners{0};  // type 2 (A24, two ways to spin): Ms without a P that look for one
  base::Atom<bool> loan_wanted{false};   // sysmon wants a P to lie idle while an exile computes (exile_shares.h)
  base::Atom<Processor*> lent{nullptr};  // that P, owned by the thread that takes it from here

  // --- blocking calls, plain threads ---
  alignas(base::kCacheLine) base::Atom<std::int64_t> in_call{0};  // goroutines in calls whose P was taken away
  base::Atom<std::int64_t> threads_waiting{0};  // plain threads blocked in a primitive without a time limit
  base::Atom<std::int64_t> runs_waiting{0};     // plain threads blocked in run()
  base::Atom<std::uint64_t> main_exited{0};     // main goroutines that left by this_goroutine::exit()

  // --- world (Rank::kWorld by way of world.h) ---
  base::Atom<std::uint32_t> stop_wait{0};
  os::Note stopped_note;
  os::Note held_note;  // signalled when an exile stands still (hold.h)
  base::Atom<std::uint64_t> stw_count{0}, stw_last_ns{0}, stw_max_ns{0};
};

// One per process. Constant-initialised, so that it can be used before and after main.
extern __attribute__((visibility("hidden"))) Scheduler scheduler;

// Acquire: an observer that sees a policy sees what the policy keeps for each P.
inline Policy& policy() noexcept { return *scheduler.policy.load_acquire(); }  // pairs: policy

// Acquire: a thread that sees this number of Ps sees those Ps initialised.
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
