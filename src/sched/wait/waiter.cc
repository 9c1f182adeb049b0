// SPDX-License-Identifier: MIT
#include "sched/wait/waiter.h"

#include "sched/core/dispatch.h"
#include "sched/core/watcher.h"
#include "sched/state/control.h"
#include "sched/state/process_end.h"

namespace weft::sched {

bool Wait::wait() noexcept {
  if (g_ == nullptr) return wait_as_thread();
  if (!is_timed()) {
    park();
    return true;
  }
  struct TimeLimit : Timer {
    Wait* wait;
  } timer;
  timer.when_ns = deadline_ns_;
  timer.callback = [](Timer* due) {
    Wait* wait = static_cast<TimeLimit*>(due)->wait;
    if (wait->choice_.fire(nullptr)) wait->sleeper().wake();
  };
  timer.wait = this;
  start_timer(&timer);
  park();
  stop_timer(&timer);  // also waits for its callback, which uses this frame
  return choice_.winner != nullptr;
}

bool Wait::wait_as_thread() noexcept {
  if (WEFT_UNLIKELY(scheduler.forked.load_relaxed()) && !is_timed()) refuse_in_forked_child();  // no waker is left
  if (!is_timed()) {
    // Counted as asleep only here, just before it sleeps, because the deadlock check must never count a running thread
    // as asleep. A waker that was faster has subtracted 1 already; this addition makes the sum right again.
    scheduler.threads_waiting.fetch_add_relaxed(1);
    thread_.note.wait();
    return true;
  }
  if (!thread_.note.wait(deadline_ns_)) {
    if (choice_.fire(nullptr)) return false;
    thread_.note.wait();  // a waker has fired the choice first, and is about to signal
  }
  return true;
}

void start_timer(Timer* timer) noexcept {
  Processor* p = os::current_p();
  const std::int64_t when_ns = timer->when_ns;  // read now: once the timer is started, other threads may change it
  TimerHeap& heap = heap_for(when_ns, p != nullptr ? p->timers : scheduler.processors[0]->timers);
  if (heap.add(timer)) timer_added(when_ns);
}

}  // namespace weft::sched
