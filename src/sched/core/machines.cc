// SPDX-License-Identifier: MIT
#include "sched/core/machines.h"

#include <sched.h>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>

#include "base/delay_site.h"
#include "os/affinity.h"
#include "os/clock.h"
#include "os/memory.h"
#include "sched/bias/machine_owners.h"
#include "sched/model/hooks.h"
#include "sched/rule/call_habit.h"
#include "sched/rule/wake_rule.h"
#include "sched/state/network_watch.h"
#include "sched/state/next_timer.h"
#include "sched/state/processor_work.h"
#include "sched/state/world_stop.h"
#include "sched/tracing/trace_points.h"

namespace weft::sched {
namespace {

// g0 runs the scheduler and signal-free bookkeeping only; goroutine code has stacks of its own.
#if WEFT_ASAN || WEFT_TSAN
constexpr std::size_t kSystemStackBytes = 2 * 1024 * 1024;
#else
constexpr std::size_t kSystemStackBytes = 256 * 1024;
#endif

void (*entry_of_threads)(void*) = nullptr;

constexpr std::int64_t kNoThreadLimitNs = 500'000'000;

// With the machines lock held: an M structure, reused or new. `by_timer`: sysmon asks, at its own pace. Null: the limit
// is reached, or the interval is not over.
Machine* new_machine_locked(bool by_timer) noexcept {
  const std::uint32_t count = scheduler.threads.load_relaxed();  // changed under this lock, except decrements
  const std::uint32_t prompt =
      settings.prompt_threads_per_p * maxprocs() + scheduler.locked_machines.load_relaxed();
  if (count >= settings.max_threads) return nullptr;
  if (count >= prompt && !by_timer) {
    if (os::now_ns() < scheduler.next_thread_at_ns.load_relaxed()) return nullptr;
  }
  scheduler.next_thread_at_ns.store_relaxed(os::now_ns() + settings.thread_interval_ns);
  Machine* m = scheduler.free_machines;
  if (m != nullptr) {
    scheduler.free_machines = m->free_next;
    m->g0_sp = nullptr;
    m->must_exit = false;
    m->thief = ThiefRecord();
    m->handed = Runnable();
    m->placement.store_relaxed(Placement::kAwake);
    m->hold.word.store_relaxed(0);
    m->note.clear();
  } else {
    void* memory = os::reserve_permanent_memory(sizeof(Machine), "weft machine");  // as a Processor's
    if (memory == nullptr) return nullptr;
    m = new (memory) Machine;
    m->id = scheduler.next_machine_id++;
    WEFT_CHECK(static_cast<void*>(m) == &m->lock_owner, "an M begins with its LockOwner (current_owner.h)");
    MachineOwners::enroll(m->lock_owner, m->id);
    m->all_next = scheduler.all_machines;
    scheduler.all_machines = m;
  }
  scheduler.threads.fetch_add_relaxed(1);
  return m;
}

void thread_refused(int error) noexcept {
  if (scheduler.threads.load_relaxed() == 0) {
    // Not one thread can run goroutines. That may pass, but it must not last in silence: fatal after kNoThreadLimitNs.
    static constinit base::Atom<std::int64_t> since_ns{0};
    std::int64_t never = 0;
    if (!since_ns.cas_relaxed(never, os::now_ns()) && os::now_ns() - never > kNoThreadLimitNs)
      base::fatal_exit(2,
                       "weft: the system refuses to create the first thread that could run goroutines (%s); raise the "
                       "limit on threads (ulimit -u, pids.max)",
                       std::strerror(error));
    return;
  }
  static constinit base::Atom<bool> told{false};
  if (told.exchange_relaxed(true)) return;
  hooks.warn_thread_refused(error);
}

// No thread can be had. If every M is locked to a goroutine that waits, no M will ever run the other goroutines: fatal.
void check_thread_limit() noexcept {
  if (scheduler.threads.load_relaxed() < settings.max_threads) return;
  if (scheduler.locked_machines.load_relaxed() < settings.max_threads) return;
  base::fatal_exit(
      2,
      "weft: program exceeds %u-thread limit: every thread is locked by a goroutine (lock_os_thread) that waits; "
      "raise WEFT_MAX_THREADS or lock fewer goroutines",
      settings.max_threads);
}

bool start_thread_for(Machine& m) noexcept {
  const int error = hooks.start_thread(entry_of_threads, &m, kSystemStackBytes, "weft-m");
  if (error == 0) {
    scheduler.threads_created.fetch_add_relaxed(1);
    return true;
  }
  {
    std::lock_guard guard(scheduler.machines_lock);
    m.free_next = scheduler.free_machines;
    scheduler.free_machines = &m;
    scheduler.threads.fetch_add_relaxed(static_cast<std::uint32_t>(-1));
  }
  thread_refused(error);
  return false;
}

// True: the kernel chooses a good CPU by itself, because the waker leaves its CPU soon, or the woken M slept where it
// is wanted. That saves the two system calls of a placement.
bool kernel_places_well(const Machine& m, Waker waker) noexcept {
  if (waker == Waker::kBlocks) return m.slept_on_cpu.load_relaxed() == sched_getcpu();
  const Goroutine* g = os::current_g();
  return waker == Waker::kIndifferent || (g != nullptr && predicts_long_call(g->habits.long_calls));
}

// The doorbell. What the M is to do was written before. A ring too many does no harm: the M looks, and sleeps on.
void ring(Machine& m, Waker waker = Waker::kGoesOn) noexcept {
  Placement asleep = Placement::kAsleep;
  if (!kernel_places_well(m, waker) && m.placement.cas_acquire(asleep, Placement::kPlacing)) {  // pairs: placement
    const bool placed = waker == Waker::kBlocks ? os::bring_to_this_cpu(m.tid) : os::keep_off_this_cpu(m.tid);
    Placement placing = Placement::kPlacing;
    const Placement after = placed ? Placement::kPlaced : Placement::kAwake;
    if (!m.placement.cas_release(placing, after) && placed) os::return_to_all_cpus(m.tid);  // pairs: placement
  }
  signal_machine(m);
}

// For a caller that blocks: an idle M that the kernel will put on the caller's CPU, because it slept there. Null: none
// among the first few.
Machine* idle_machine_of_this_cpu_locked() noexcept {
  const int here = sched_getcpu();
  int looks = 8;
  for (Machine* m = scheduler.idle_machines; m != nullptr && looks-- > 0; m = m->idle_next)
    if (m->slept_on_cpu.load_relaxed() == here) return m;
  return nullptr;
}

Machine* choose_idle_machine_locked(const Processor& p, Waker waker) noexcept {
  Machine* m = p.last_m != nullptr && p.last_m->idle ? p.last_m : nullptr;
  if (m == nullptr && waker == Waker::kBlocks) m = idle_machine_of_this_cpu_locked();
  if (m == nullptr) m = scheduler.idle_machines;
  // The M that blocks in the netpoller stays there, if another M is idle. Only a hint, so no order.
  if (m != nullptr && m == scheduler.network.blocked.load_relaxed())
    m = m != scheduler.idle_machines ? scheduler.idle_machines : m->idle_next != nullptr ? m->idle_next : m;
  if (m != nullptr) remove_idle_machine_locked(*m);
  return m;
}

// A new thread inherits signal mask, CPUs and privileges from the thread that starts it. A thread that a goroutine is
// locked to may have changed them, so it starts none: sysmon does.
bool may_start_threads() noexcept {
  const Machine* own = os::current_m();
  return own == nullptr || (own->locked_g == nullptr && !own->must_exit);
}

bool start_machine_for(Processor& p, bool spinning, Runnable handed, Waker waker, bool by_timer) noexcept {
  Machine* m;
  bool fresh = false;
  {
    std::lock_guard guard(scheduler.machines_lock);
    m = choose_idle_machine_locked(p, waker);
    if (m == nullptr && may_start_threads()) {
      m = new_machine_locked(by_timer);
      fresh = true;
    }
    if (m != nullptr) {
      m->next_spinning = spinning;
      m->next_runnable = handed;
      m->next_p.store_release(&p);  // pairs: machine.next_p
    }
  }
  if (m == nullptr) return false;
  if (fresh) return start_thread_for(*m);
  count(os::current_p(), Counter::kUnparks);
  ring(*m, waker);
  return true;
}

}  // namespace

void set_thread_entry(void (*entry)(void*)) noexcept { entry_of_threads = entry; }

void signal_machine(Machine& m) noexcept {
  if (m.note.signal()) scheduler.network.source.load_relaxed()->interrupt();  // m blocks in the source, so there is one
}

void ring_chosen_machines() noexcept {
  std::lock_guard guard(scheduler.machines_lock);
  for (Machine* m = scheduler.all_machines; m != nullptr; m = m->all_next)
    if (m->next_p.load_relaxed() != nullptr) signal_machine(*m);  // no order: m reads next_p again, by acquire
}

void add_idle_machine_locked(Machine& m) noexcept {
  m.idle = true;
  m.idle_previous = nullptr;
  m.idle_next = scheduler.idle_machines;
  if (m.idle_next != nullptr) m.idle_next->idle_previous = &m;
  scheduler.idle_machines = &m;
  ++scheduler.idle_machine_count;
}

void remove_idle_machine_locked(Machine& m) noexcept {
  m.idle = false;
  if (m.idle_previous != nullptr)
    m.idle_previous->idle_next = m.idle_next;
  else
    scheduler.idle_machines = m.idle_next;
  if (m.idle_next != nullptr) m.idle_next->idle_previous = m.idle_previous;
  --scheduler.idle_machine_count;
}

bool start_machine(Processor& p, bool spinning, Runnable handed, Waker waker) noexcept {
  if (start_machine_for(p, spinning, handed, waker, false)) return true;
  count(os::current_p(), Counter::kThreadsThrottled);
  if (handed) scheduler.inject.push(handed);
  if (spinning) scheduler.idle.stop_spinning();
  give_everything_back(p);  // thieves see neither the slot of an idle P nor what the policy hides on it
  // In this order, because sysmon takes the wish first and looks for an idle P then.
  scheduler.idle.push(p.id, false, maxprocs());
  scheduler.thread_wanted.store_release(true);  // pairs: thread.wanted
  hooks.poke_sysmon();
  check_thread_limit();
  return false;
}

void retry_wanted_thread() noexcept {
  if (!scheduler.thread_wanted.load_relaxed()) return;
  // The wish is taken before the look around: one that comes during the look stays for the next time.
  scheduler.thread_wanted.exchange_acq_rel(false);  // pairs: thread.wanted
  const bool unwatched_timers = next_timer_ns() != TimerHeap::kNever && scheduler.poller.m.load_relaxed() == nullptr;
  if (!work_exists(nullptr) && !unwatched_timers && !network_unwatched_for(0))
    return;  // the thread that brings the next work wakes an M
  const std::int32_t index = scheduler.idle.pop();
  if (index < 0) return;
  Processor& p = *scheduler.processors[index];
  const bool started = start_machine_for(p, false, Runnable(), Waker::kGoesOn, true);
  if (!started) scheduler.idle.push(p.id, false, maxprocs());
  if (scheduler.idle.look().idle() > 0) scheduler.thread_wanted.store_release(true);  // pairs: thread.wanted
  if (!started) check_thread_limit();
}

void wake_one(Processor* p) noexcept {
  for (;;) {
    const std::int32_t index = scheduler.idle.pop_for_new_spinner();
    if (index < 0) return;
    Processor& target = *scheduler.processors[index];
    WEFT_DELAY_SITE("wake.popped");
    WEFT_DCHECK(scheduler.idle.look().spinning() <= maxprocs(), "spinning Ms never outnumber Ps (S3)");
    Runnable handed;
    // The waker chooses what the woken M runs.
    if (policy().hands_off()) handed = policy().next(target, Runnable()).what;
    if (!handed) {
      start_machine(target, true);
      return;
    }
    scheduler.idle.stop_spinning();
    count(p, Counter::kHandoffs);
    if (!start_machine(target, false, handed)) return;
    // A22 (the last spinner makes another): the woken M will not search. Threads that submitted work while it counted
    // as a spinner have woken no M.
    base::full_fence();  // pairs: submit.retire
    if (scheduler.inject.empty()) return;
  }
}

void wake_passive(Processor* p) noexcept {
  if (!scheduler.idle.clear_passive()) return;  // another thread wakes it, or it woke by itself
  WEFT_DELAY_SITE("wake_passive.cleared");
  Machine* m = scheduler.passive.m.load_acquire();  // pairs: passive.m
  if (m == nullptr) return;                         // it has woken by itself and is looking around
  count(p, Counter::kUnparks);
  ring(*m);
}

void accept_processor(Machine& m, Processor& p) noexcept {
  m.handed = m.next_runnable;
  m.spinning = m.next_spinning;
  m.next_p.store_relaxed(nullptr);  // we have seen it: the giver is done with the three fields
  acquire_processor(m, p);
}

void acquire_processor(Machine& m, Processor& p) noexcept {
  WEFT_DCHECK(m.p == nullptr && p.m == nullptr, "a P is wired to one M at a time (S1)");
  p.counters.bump(p.last_m == &m ? Counter::kLastMachineHits : Counter::kLastMachineMisses);
  m.p = &p;
  p.m = &m;
  p.last_m = &m;
  if (trace::recording()) trace_acquire(p);
  p.word.store_release(Processor::make_word(PStatus::kRunning, m.id, 0));  // pairs: processor.word
  os::set_current_p(&p);
  if (WEFT_UNLIKELY(scheduler.sysmon_asleep.load_seq_cst())) hooks.poke_sysmon();  // pairs: sysmon.asleep
}

Processor& release_processor(Machine& m) noexcept {
  Processor& p = *m.p;
  WEFT_DCHECK(p.m == &m, "an M gives up only the P it is wired to (S1)");
  if (trace::recording()) trace_release(p);
  m.p = nullptr;
  p.m = nullptr;
  p.word.store_release(Processor::make_word(PStatus::kIdle, 0, 0));  // pairs: processor.word
  os::set_current_p(nullptr);
  return p;
}

void make_idle(Processor& p) noexcept {
  scheduler.idle.push(p.id, false, maxprocs());
  base::full_fence();  // pairs: submit.retire
  if (work_exists(nullptr)) {
    const rule::Wake wake = rule::whom_to_wake(scheduler.idle.look());
    if (wake == rule::Wake::kPassive) wake_passive(nullptr);
    if (wake == rule::Wake::kOne) wake_one(nullptr);
  }
}

void pass_processor(Processor& p, Waker waker) noexcept {
  if (stop_if_world_stops(p)) return;
  count(os::current_p(), Counter::kHandoffs);
  const bool work_waits = has_work(p) || !scheduler.inject.empty();
  // Timers need an M that sleeps until they are due.
  const bool needs_watcher = p.timers.next_ns() != TimerHeap::kNever && scheduler.poller.m.load_relaxed() == nullptr &&
                             scheduler.passive.m.load_relaxed() == nullptr;
  // Descriptors need an M that watches them (N1: while every P is idle, some M does).
  const bool needs_look = network_unwatched_for(0) && scheduler.passive.m.load_relaxed() == nullptr;
  if (work_waits || needs_watcher || needs_look) {
    // The caller may compute in its call instead of sleeping. As long as there may be a CPU to spare, the kernel is
    // left to find it.
    const bool crowded = scheduler.idle.look().idle() == 0 && os::allowed_cpu_count() <= static_cast<int>(maxprocs());
    start_machine(p, false, Runnable(), crowded ? waker : Waker::kIndifferent);
  } else {
    make_idle(p);
  }
}

}  // namespace weft::sched
