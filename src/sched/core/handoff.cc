// SPDX-License-Identifier: MIT
#include "sched/core/handoff.h"

#include "base/delay_site.h"
#include "os/clock.h"
#include "sched/core/arrivals.h"
#include "sched/core/dispatch.h"
#include "sched/core/machines.h"
#include "sched/core/thread_kept.h"
#include "sched/model/hooks.h"
#include "sched/rule/call_habit.h"
#include "sched/state/process_end.h"
#include "sched/state/run_sample.h"
#include "sched/tracing/trace_points.h"

namespace weft::sched {
namespace {

constexpr std::uint64_t kLongCallUs = 50;  // waking another thread for the P costs 20 to 50 us
constexpr unsigned kLooksForProcessor = 32;

// A24, type 2 spinner: an M without a P looks for one, briefly. If it finds one, its goroutine goes on without being
// queued. Negative: none found.
std::int32_t look_for_processor() noexcept {
  std::int32_t index = scheduler.idle.pop();
  if (index >= 0 || maxprocs() == 1) return index;
  const IdleView view = scheduler.idle.look();
  // A25: never more than maxprocs Ms spin, both kinds together.
  if (view.spinning() + scheduler.waiting_spinners.load_relaxed() >= maxprocs()) return index;
  scheduler.waiting_spinners.fetch_add_relaxed(1);
  for (unsigned i = 0; i < kLooksForProcessor && index < 0; ++i) {
    base::cpu_relax(4);
    if (scheduler.idle.look().idle() > 0) index = scheduler.idle.pop();
  }
  scheduler.waiting_spinners.fetch_add_relaxed(static_cast<std::uint32_t>(-1));
  return index;
}

// May switch. A P has waited for a thread that could not be started (thread limit, or the system refuses). This thread
// has just come back from a call, so it may be the only one that can run what waits: timers and goroutines. Its own
// goroutine goes to the end of the global queue. Otherwise goroutines that loop over calls would pass the few threads
// among themselves for ever.
//   No order   thread_wanted is only a hint: sysmon sets it again whenever it finds work beside an idle P and no
//              thread.
//   Locked     a thread with a locked goroutine runs nothing else.
void serve_others_first(const Goroutine* g) noexcept {
  if ((g->flags & kGLocked) == 0) give_way();
}

// A timed call is over. Was it long, so that giving the P away at once was right, or would have been?
__attribute__((noinline)) void judge_timed_call(Goroutine* g, const Machine& m) noexcept {
  const bool was_long = os::ticks() - m.call_began >= os::us_to_ticks(kLongCallUs);
  g->habits.long_calls = was_long ? kLongCallsMax : static_cast<std::uint8_t>(g->habits.long_calls - 1);
}

// May switch. The P was taken during the call.
__attribute__((noinline)) void leave_without_processor(Goroutine* g, Machine& m, bool unannounced) noexcept {
  if (g->habits.long_calls > 0)
    judge_timed_call(g, m);
  else
    g->habits.long_calls = kLongCallSuspected;
  if (scheduler.exiting.load_acquire()) stay_out_of_the_way();  // pairs: exiting
  // in_call is decremented last: until then the deadlock check sees that a goroutine is on its way back.
  const std::int32_t index = look_for_processor();
  if (index >= 0) {
    acquire_processor(m, *scheduler.processors[index]);
    arch::fiber_goes_on();
    scheduler.in_call.fetch_add_relaxed(-1);
    transition(g, GStatus::kInCall, GStatus::kRunning);
    if (WEFT_UNLIKELY(scheduler.thread_wanted.load_relaxed())) {
      const ThreadKept kept(g, unannounced && wants_thread_kept(g, look_at_frames(g)));
      serve_others_first(g);
    }
    return;
  }
  const ThreadKept kept(g, unannounced && wants_thread_kept(g, look_at_frames(g)));
  // A locked goroutine is found in the queue by another M, which hands its P over to this thread.
  transition(g, GStatus::kInCall, GStatus::kRunnable);
  arch::fiber_release(g);
  inject(Runnable(g));
  scheduler.in_call.fetch_add_relaxed(-1);
  switch_to_system_stack(g);
}

// The calls of this goroutine were long: its P goes to another M now.
__attribute__((noinline)) void hand_off_at_once(Processor& p, std::uint64_t word) noexcept {
  if (!take_from_call(p, word)) return;
  scheduler.shared_counters.add(Counter::kLongCalls);
  pass_processor(p, Waker::kBlocks);
}

__attribute__((always_inline)) inline void leave_in_call(Machine& m, Goroutine* g) noexcept {
  Processor& p = *m.p;
  transition(g, GStatus::kRunning, GStatus::kInCall);
  m.call_p = &p;
  m.call_word = Processor::make_word(PStatus::kInCall, m.id, ++m.call_count);
  m.p = nullptr;
  os::set_current_p(nullptr);
  arch::fiber_stands_still();
  p.word.store_release(m.call_word);  // pairs: processor.word
}

}  // namespace

void leave_processor_in_call(Machine& m, Goroutine* g) noexcept { leave_in_call(m, g); }

namespace {

__attribute__((always_inline)) inline void give_up_call(Processor& p, std::uint64_t word, bool is_long) noexcept {
  if (WEFT_UNLIKELY(is_long)) {
    hand_off_at_once(p, word);
  } else if (WEFT_UNLIKELY(scheduler.sysmon_slow.load_relaxed()) && (p.slot.look() || policy().load(p).any() || !scheduler.inject.empty())) {
    hooks.poke_sysmon();  // work waits behind this call: two looks at a slow pace would be too late
  }
}

}  // namespace

void give_up_predicted_call(Processor& p, std::uint64_t word, bool is_long) noexcept { give_up_call(p, word, is_long); }

// A call of a goroutine that is being sampled, or whose calls are timed.
static __attribute__((noinline)) void enter_watched_call(Goroutine* g, Machine& m) noexcept {
  Processor& p = *m.p;
  close_sample(g);  // a goroutine in a call keeps its P from others, but it does not compute
  if (g->habits.long_calls > 0) m.call_began = os::ticks();
  leave_processor_in_call(m, g);
  WEFT_DELAY_SITE("call.entered");
  give_up_call(p, m.call_word, predicts_long_call(g->habits.long_calls));
}

void enter_call() noexcept {
  Goroutine* g = os::current_g();
  Machine& m = *os::current_m();
  Processor& p = *m.p;
  p.counters.bump(Counter::kCalls);
  if (WEFT_UNLIKELY(g->ready_at != 0 || g->habits.long_calls != 0)) return enter_watched_call(g, m);
  leave_in_call(m, g);
  WEFT_DELAY_SITE("call.entered");
  give_up_call(p, m.call_word, false);
}

void leave_call(bool unannounced) noexcept {
  Goroutine* g = os::current_g();
  Machine& m = *os::current_m();
  Processor& p = *m.call_p;
  std::uint64_t word = m.call_word;
  WEFT_DELAY_SITE("call.leaving");
  if (WEFT_LIKELY(
          p.word.cas_acq_rel(word, Processor::make_word(PStatus::kRunning, m.id, 0)))) {  // pairs: processor.word
    m.p = &p;
    os::set_current_p(&p);
    transition(g, GStatus::kInCall, GStatus::kRunning);
    if (WEFT_UNLIKELY(g->habits.long_calls > 0)) return judge_timed_call(g, m);
    return;
  }
  leave_without_processor(g, m, unannounced);
}

bool take_from_call(Processor& p, std::uint64_t word) noexcept {
  trace::StealSection section;
  scheduler.in_call.fetch_add_relaxed(1);  // before the P can become idle: the deadlock check must see one of the two
  if (!p.word.cas_acq_rel(word, Processor::make_word(PStatus::kIdle, 0, 0))) {  // pairs: processor.word
    scheduler.in_call.fetch_add_relaxed(-1);
    return false;
  }
  WEFT_DELAY_SITE("call.taken");
  section.took(&p.mark, p.id, p.m != nullptr ? static_cast<std::uint64_t>(p.m->tid) : 0);
  p.m = nullptr;
  return true;
}

}  // namespace weft::sched
