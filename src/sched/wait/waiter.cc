// SPDX-License-Identifier: MIT
#include "sched/wait/waiter.h"

#include "sched/core/dispatch.h"
#include "sched/core/watcher.h"
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
  if (WEFT_UNLIKELY(scheduler.forked.load_relaxed()) && !is_timed()) refuse_in_forked_child();  // who could wake us?
  if (!is_timed()) {
    // Counted as asleep only now, when it is sure to be: what the deadlock check must never do is count somebody who runs. A
    // waker that was faster has taken one off already, and the sum is right again here.
    scheduler.threads_waiting.fetch_add_relaxed(1);
    thread_.note.wait();
    return true;
  }
  if (!thread_.note.wait(deadline_ns_)) {
    if (choice_.fire(nullptr)) return false;
    thread_.note.wait();  // somebody was faster and is about to signal
  }
  return true;
}

void start_timer(Timer* timer) noexcept {
  Processor* p = os::current_p();
  TimerHeap& heap = p != nullptr ? p->timers : scheduler.processors[0]->timers;
  const std::int64_t when_ns = timer->when_ns;  // once it is started, others may change it
  if (heap.add(timer)) timer_added(when_ns);
}

}  // namespace weft::sched
