// SPDX-License-Identifier: MIT
#include "weft/detail/task_core.h"

#include <sched.h>

#include "api/joiner.h"
#include "api/start.h"
#include "base/delay_site.h"
#include "sched/core/arrivals.h"
#include "sched/core/preempt.h"
#include "sched/state/process_end.h"
#include "sched/state/spawn.h"
#include "sched/tracing/trace_points.h"
#include "sched/wait/waiter.h"
#include "weft/go.h"

// Join.
//   Protocol   word: 0 -> waiter (the joiner, by CAS) -> done (the goroutine, by exchange). A goroutine that finds a
//              waiter wakes it.
//   Memory     The exchange is the goroutine's last access to the state: a thread that sees `done` owns it. A task that
//              lets go before (detach) leaves `abandoned` by exchange. Of the two exchanges the later one sees the
//              other and destroys.
//   Time limit A joiner that gives up takes its waiter back by CAS. If the goroutine has it already, the joiner waits
//              for the goroutine's last access (`released`), which is imminent, because the goroutine does not block in
//              between.
//   Select     Is such a joiner, too: the first of its cases fires the Choice, and withdraw() takes back the joiners of
//              the others. A task has one owner, so a waiter in the word is one of the same select, for a task that
//              stands in two cases. The second joiner does not replace it: the first one is woken for both.
//   Orders     task.word: the exchange releases the result to the thread that reads `done` or finds it there, and
//              acquires the waiter. task.released: after it the joiner's frame may go.
//   Rejected   Counting references: more locked operations for each join.
//   Model      tests/model/api/join_test.cc and select_event_test.cc explore this file.
namespace weft::detail {
namespace {

using sched::Wait;
using sched::Waiter;
using sched::WaitReason;

// The id of a goroutine that is asked for it before it runs.
std::uint64_t reserve_id() {
  if (sched::Processor* p = os::current_p()) return sched::new_goroutine_id(*p);
  api::ensure_started();
  return sched::scheduler.next_id_range.fetch_add_relaxed(1);
}

}  // namespace

task_core::task_core() : id_(reserve_id()) {}

void task_core::begin() noexcept {
  sched::Goroutine* g = os::current_g();
  if (g->id == id_) return;
  if (trace::recording()) arch::cold_call<sched::trace_rename>(reinterpret_cast<std::uintptr_t>(g), 0);
  g->id = id_;
}

bool task_core::finish() noexcept {
  sched::end_locals();
  if (exited && is_main) {
    sched::scheduler.main_exited.fetch_add_relaxed(1);
    return false;  // as in Go: other goroutines go on, and run() does not return
  }
  WEFT_DELAY_SITE("task.finishing");
  order_release(&word_);
  const std::uintptr_t before = word_.exchange(kDone, std::memory_order_acq_rel);  // pairs: task.word
  if (before == 0) return false;
  if (before == kAbandoned) {
    order_acquire(&word_);
    return true;
  }
  if ((before & kWaiter) == 0) {
    sched::ready(reinterpret_cast<sched::Goroutine*>(before));
    return false;
  }
  auto* waiter = reinterpret_cast<Joiner*>(before & ~kWaiter);
  const sched::Sleeper who = waiter->who;
  if (waiter->choice == nullptr || waiter->choice->fire(waiter)) {
    who.wake();
  } else {
    waiter->released.store_release(true);  // pairs: task.released
  }
  return false;
}

void task_core::wait_slow() noexcept {
  const bool is_goroutine = sched::regain_processor() != nullptr;
  sched::Goroutine* g = os::current_g();
  if (!is_goroutine) {
    wait_until(INT64_MAX);
    return;
  }
  sched::begin_wait(g, WaitReason::kJoin, this);
  std::uintptr_t nobody = 0;
  if (word_.compare_exchange_strong(nobody, reinterpret_cast<std::uintptr_t>(g),
                                    std::memory_order_acq_rel)) {  // pairs: task.word
    sched::park();
  } else {
    sched::call_off_wait(g);
  }
  order_acquire(&word_);
}

bool task_core::wait_until(std::int64_t deadline_ns) noexcept {
  if (done()) return true;
  // A static destructor gives up. Other threads wait for the end of the process, as those do that came before it began.
  if (sched::regain_processor() == nullptr && sched::ends_the_process()) return false;
  Wait wait(WaitReason::kJoin, this, deadline_ns);
  Joiner waiter;
  wait.attach(waiter);
  wait.begin();
  if (!enlist(waiter)) {
    wait.call_off();
    order_acquire(&word_);
    return true;  // done meanwhile
  }
  if (wait.wait()) {
    order_acquire(&word_);
    return true;
  }
  WEFT_DELAY_SITE("task.gave_up");
  return withdraw(waiter);
}

bool task_core::enlist(Joiner& joiner) noexcept {
  const std::uintptr_t mine = reinterpret_cast<std::uintptr_t>(&joiner) | kWaiter;
  std::uintptr_t expected = 0;
  joiner.queued = word_.compare_exchange_strong(expected, mine, std::memory_order_acq_rel);  // pairs: task.word
  return expected != kDone;
}

bool task_core::withdraw(Joiner& joiner) noexcept {
  if (!joiner.queued) return done();
  std::uintptr_t mine = reinterpret_cast<std::uintptr_t>(&joiner) | kWaiter;
  if (word_.compare_exchange_strong(mine, 0, std::memory_order_acq_rel)) return false;  // pairs: task.word
  while (!joiner.released.load_acquire()) sched_yield();                                // pairs: task.released
  order_acquire(&word_);
  return true;
}

void throw_exiting() {
  throw logic_error(
      "weft: task::join: the process is exiting, and no goroutine runs any more; there will be no result");
}

}  // namespace weft::detail
