// SPDX-License-Identifier: MIT
#include "sched/world/world.h"

#include <algorithm>
#include <mutex>
#include <new>

#include "base/delay_site.h"
#include "os/affinity.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/thread.h"
#include "sched/core/handoff.h"
#include "sched/core/hold.h"
#include "sched/core/machine_loop.h"
#include "sched/core/machines.h"
#include "sched/core/preempt.h"
#include "sched/core/retreat.h"
#include "sched/frames/foreign_frames.h"
#include "sched/frames/unwinding.h"
#include "sched/model/hooks.h"
#include "sched/state/processor_work.h"
#include "sched/state/world_stop.h"
#include "sched/tracing/trace_points.h"
#include "sched/wait/waiter.h"

namespace weft::sched {
namespace {

constexpr std::int64_t kAskToStopNs = 100'000;
constexpr std::uint64_t kSpinUs = 20;
constexpr std::int64_t kSignalAfterNs = 2'000'000, kSignalAgainNs = 1'000'000;
constexpr std::int64_t kWalkEndsNs = 20'000'000;  // the exit waits at least so long for threads that walk their stack

// The turn to stop the world: one stopper has it, the others queue for it.
class Turn {
 public:
  // False: the time limit came first.
  bool take(std::int64_t deadline_ns) noexcept {
    Wait wait(WaitReason::kStopTheWorld, this, deadline_ns);
    Waiter waiter;
    wait.attach(waiter);
    lock_.lock();
    if (!taken_) {
      taken_ = true;
      lock_.unlock();
      return true;
    }
    wait.begin();
    waiters_.push(waiter);
    lock_.unlock();
    if (wait.wait()) return true;  // handed over
    lock_.lock();
    waiters_.remove(waiter);
    lock_.unlock();
    return false;
  }
  void pass_on() noexcept {
    lock_.lock();
    Waiter* next = waiters_.pop();
    if (next == nullptr) taken_ = false;
    lock_.unlock();
    if (next != nullptr) wake(next);
  }

 private:
  os::SpinLock lock_;
  bool taken_ = false;
  WaitList waiters_;
};

Turn turn;
std::int64_t stop_began_ns;  // only the stopper uses it

// The goroutine or thread that has stopped the world (own_name). It may stop the world again, for a dump or another
// maxprocs: that is only counted. Every other caller finds a name that is not its own.
base::Atom<std::uintptr_t> stopper{0};
unsigned nested_stops = 0;  // only the stopper uses it

std::uintptr_t own_name() noexcept {
  const Goroutine* g = os::current_g();
  return g != nullptr ? reinterpret_cast<std::uintptr_t>(g) : static_cast<std::uintptr_t>(os::thread_id()) << 1 | 1;
}

void ask_everybody(const Processor* own) noexcept {
  for (std::uint32_t i = 0; i < maxprocs(); ++i) {
    Processor& p = *scheduler.processors[i];
    if (&p == own) continue;
    const std::uint64_t word = p.word.load_acquire();  // pairs: processor.word
    if (Processor::status_of(word) == PStatus::kStopped) continue;
    p.attention.fetch_or_acq_rel(kAttentionStop);  // pairs: attention
    if (Processor::status_of(word) == PStatus::kInCall && take_from_call(p, word)) mark_stopped(p);
    if (Processor::status_of(word) == PStatus::kRunning && settings.preempt) ask_to_give_way(p);
  }
  for (std::int32_t index; (index = scheduler.idle.pop()) >= 0;) mark_stopped(*scheduler.processors[index]);
  if (Processor* lent = scheduler.lent.exchange_acq_rel(nullptr)) mark_stopped(*lent);  // pairs: scheduler.lent
  wake_passive(nullptr);
}

// By now, Ms that have not come to a preemption check run code that has none.
void ask_by_signal_who_runs(const Processor* own) noexcept {
  for (std::uint32_t i = 0; i < maxprocs(); ++i) {
    Processor& p = *scheduler.processors[i];
    if (&p != own && p.status() == PStatus::kRunning) ask_by_signal(p);
  }
}

// An M that runs code with checks, and has a CPU, stops within a microsecond. For that it does not pay to sleep and be
// woken by the last M that stops.
bool spin_until_stopped() noexcept {
  if (scheduler.overcommitted.load_relaxed() || os::allowed_cpu_count() < 2) return false;
  const std::uint64_t end = os::ticks() + os::us_to_ticks(kSpinUs);
  do {
    if (scheduler.stop_wait.load_acquire() == 0) return true;  // pairs: stop_wait
    base::cpu_relax(8);
  } while (os::ticks() < end);
  return false;
}

// False: the deadline came first.
bool wait_until_stopped(const Processor* own, std::int64_t deadline_ns) noexcept {
  std::int64_t signal_at = stop_began_ns + kSignalAfterNs;
  while (scheduler.stop_wait.load_acquire() != 0) {  // pairs: stop_wait
    const std::int64_t now = os::now_ns();
    if (now >= deadline_ns) return false;
    if (spin_until_stopped()) return true;
    scheduler.stopped_note.wait(now + kAskToStopNs);
    ask_everybody(own);
    if (now >= signal_at && settings.preempt) {
      ask_by_signal_who_runs(own);
      signal_at = now + kSignalAgainNs;
    }
  }
  return true;
}

bool begin_stop(std::int64_t deadline_ns) noexcept {
  if (trace::recording()) trace_world_stopping();
  stop_began_ns = os::now_ns();
  const Processor* own = os::current_p();
  scheduler.stopped_note.clear();
  scheduler.stop_wait.store_release(maxprocs() - (own != nullptr ? 1 : 0));  // pairs: stop_wait
  scheduler.world_stopping.store_seq_cst(true);                              // pairs: world_stopping
  ask_everybody(own);
  return wait_until_stopped(own, deadline_ns);
}

void remember_pause() noexcept {
  const auto pause = static_cast<std::uint64_t>(os::now_ns() - stop_began_ns);
  scheduler.stw_count.fetch_add_relaxed(1);
  scheduler.stw_last_ns.store_relaxed(pause);
  if (pause > scheduler.stw_max_ns.load_relaxed()) scheduler.stw_max_ns.store_relaxed(pause);
}

// With the world stopped: gives back all that p has. Its work goes to the global queue, its timers to P 0, its free
// records and stacks to the shared pools.
void empty_processor(Processor& p) noexcept {
  give_everything_back(p);
  if (&p != scheduler.processors[0]) scheduler.processors[0]->timers.adopt(p.timers);
  scheduler.records.drain(p);
  scheduler.stacks.drain(p);
}

}  // namespace

void stop_the_world() noexcept {
  if (stopper.load_relaxed() == own_name()) {  // only the stopper itself writes its name
    ++nested_stops;
    return;
  }
  turn.take(os::kForever);
  stopper.store_relaxed(own_name());
  forbid_preemption();  // else other goroutines could run on our P
  begin_stop(os::kForever);
  hold_exiles(kHoldWorld, os::kForever);
  arch::fiber_world_stopped();
}

void start_the_world() noexcept {
  if (nested_stops > 0) {
    --nested_stops;
    return;
  }
  stopper.store_relaxed(0);
  arch::fiber_world_starts();
  Processor* own = os::current_p();
  scheduler.world_stopping.store_seq_cst(false);  // pairs: world_stopping
  let_exiles_go(kHoldWorld);
  for (std::uint32_t i = 0; i < maxprocs(); ++i)
    scheduler.processors[i]->attention.fetch_and_acq_rel(~std::uint32_t{kAttentionStop});  // pairs: attention
  for (std::uint32_t i = 0; i < maxprocs(); ++i) {
    Processor& p = *scheduler.processors[i];
    if (&p == own) continue;
    p.word.store_release(Processor::make_word(PStatus::kIdle, 0, 0));  // pairs: processor.word
    if (has_work(p)) {
      start_machine(p, false);
    } else {
      scheduler.idle.push(p.id, false, maxprocs());
    }
  }
  remember_pause();
  if (trace::recording()) trace_world_started();
  turn.pass_on();
  allow_preemption();
  // One of the idle Ps is woken, and looks after the global queue and the timers.
  base::full_fence();  // pairs: submit.retire
  wake_one(own);
}

void stop_the_world_for_exit(std::int64_t limit_ns) noexcept {
  const std::int64_t deadline = os::now_ns() + limit_ns;
  const bool stopped_already = stopper.load_relaxed() == own_name();  // exit() inside stop_the_world()
  const bool our_turn = !stopped_already && turn.take(deadline);      // never passed on
  // exit() from a goroutine: static destructors run as on a plain thread, because a wait of theirs must not let other
  // goroutines run. So this thread does not count as an M any more. That happens before the deadlock check looks at
  // threads, because the exiting thread is awake and must not be counted among the sleeping Ms.
  Machine* const m = os::current_m();
  if (m != nullptr) scheduler.threads.fetch_add_relaxed(static_cast<std::uint32_t>(-1));
  scheduler.exiting_thread = os::thread_id();
  scheduler.exiting.store_release(true);  // pairs: exiting
  if (our_turn) begin_stop(deadline);
  hold_exiles(kHoldExit, deadline);
  arch::fiber_world_stopped();
  Unwinding::end(std::max(deadline, os::now_ns() + kWalkEndsNs));
  if (m != nullptr && m->p != nullptr) release_processor(*m);
}

static void attach(Policy& to, Processor& p) noexcept {
  p.slot_runs = 0;  // until the policy grants runs out of the slot
  if (!to.attach(p)) base::fatal_exit(2, "weft: no memory for what the policy keeps of processor %u", p.id);
}

void resize(std::uint32_t n) noexcept {
  const std::uint32_t old = maxprocs();
  for (std::uint32_t i = old; i < n; ++i) {
    if (scheduler.processors[i] == nullptr) {
      // Mapped, not from the heap, because it lives as long as the process, and because TSan takes heap memory for
      // written by the thread that allocated it.
      void* memory = os::reserve_permanent_memory(sizeof(Processor), "weft processor");
      if (memory == nullptr) base::fatal_exit(2, "weft: no memory for processor %u", i);
      auto* p = new (memory) Processor;
      p->id = i;
      p->random = base::Random(settings.random_seed + i + 1);
      p->sampled_at = os::ticks();
      if (settings.wake_on_last_p) p->turn_interval = 1;
      scheduler.processors[i] = p;
    }
    scheduler.processors[i]->word.store_relaxed(Processor::make_word(PStatus::kStopped, 0, 0));
    scheduler.processors[i]->attention.store_relaxed(0);
    attach(policy(), *scheduler.processors[i]);
  }
  Machine* m = os::current_m();
  if (os::current_p() != nullptr && os::current_p()->id >= n) {  // the caller's own P goes away: it continues with P 0
    release_processor(*m);
    acquire_processor(*m, *scheduler.processors[0]);
  }
  for (std::uint32_t i = n; i < old; ++i) {
    empty_processor(*scheduler.processors[i]);
    scheduler.processors[i]->word.store_relaxed(Processor::make_word(PStatus::kStopped, 0, 0));
  }
  if (n > scheduler.processors_made.load_relaxed())
    scheduler.processors_made.store_release(n);  // pairs: processors_made
  scheduler.maxprocs.store_release(n);           // pairs: maxprocs
  const int cpus = os::allowed_cpu_count();
  scheduler.overcommitted.store_relaxed(cpus > 0 && n > static_cast<std::uint32_t>(cpus));
  if (trace::recording()) trace_maxprocs(n);
}

void change_policy(Policy& to) noexcept {
  RunnableList work;
  for (std::uint32_t i = 0; i < maxprocs(); ++i) {
    take_everything(*scheduler.processors[i], work);
    attach(to, *scheduler.processors[i]);
  }
  scheduler.policy.store_release(&to);  // pairs: policy
  scheduler.inject.push(work);
}

void start_scheduler(Policy& first, std::uint32_t n) {
  find_program_code();
  set_thread_entry(machine_main);
  watch_meetings();
  scheduler.policy.store_release(&first);  // pairs: policy
  resize(n);
  for (std::uint32_t i = n; i-- > 0;) {
    scheduler.processors[i]->word.store_relaxed(Processor::make_word(PStatus::kIdle, 0, 0));
    scheduler.idle.push(i, false, n);
  }
  scheduler.started.store_release(true);  // pairs: started
}

}  // namespace weft::sched
