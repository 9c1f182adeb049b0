// SPDX-License-Identifier: MIT
#include "sched/waiter.h"

#include <algorithm>

#include "sched/dispatch.h"
#include "sched/timer_watch.h"
#include "sched/world.h"

namespace weft::sched {

void Wait::on_time_limit(Timer* timer, std::int64_t) {
  auto* wait = static_cast<Wait*>(timer->argument);
  if (wait->choice_.fire(nullptr)) wait->sleeper().wake();
}

bool Wait::wait() noexcept {
  if (g_ == nullptr) return wait_as_thread();
  if (!is_timed()) {
    park();
    return true;
  }
  Timer timer;
  timer.when_ns = deadline_ns_;
  timer.callback = &Wait::on_time_limit;
  timer.argument = this;
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
  if (heap.add(timer)) timer_added(timer->when_ns);
}

namespace {

// How long goroutines have run here of late.
std::uint64_t average_run_us(const Processor& p, std::uint64_t now) noexcept {
  const std::uint32_t average = p.average_ns.load_relaxed();
  if (WEFT_LIKELY(average != Processor::kUnknownAverage)) return average / 1000;
  const std::uint32_t dispatched = kGlobalInterval - p.until_global;
  return (now - p.sampled_at) / os::ticks_per_us() / std::max(dispatched, 1u);
}

// From the end of its last sleep to now: does it only ever do a little in between?
// Before its first sleep it is taken for one like the others that ran here of late.
void note_run_between_sleeps(const Processor& p, Goroutine* g) noexcept {
  const std::uint64_t now = os::ticks();
  const std::uint64_t ran_us = WEFT_LIKELY(g->runs_between_sleeps != 0)
                                   ? (static_cast<std::uint32_t>(now) - g->runs_between_sleeps) / os::ticks_per_us()
                                   : average_run_us(p, now);
  g->runs_between_sleeps = static_cast<std::uint32_t>(std::min<std::uint64_t>(ran_us, UINT32_MAX));
  g->habits.short_runner = ran_us < kBriefUs ? kShortRunner : 0;
}

void sleep_on(Processor* p, std::int64_t deadline_ns) noexcept {
  if (p == nullptr) {
    os::Note note;
    note.wait(deadline_ns);
    return;
  }
  Goroutine* g = os::current_g();
  note_run_between_sleeps(*p, g);
  begin_wait(g, WaitReason::kSleep, nullptr);
  if (deadline_ns != os::kForever && p->timers.add_sleeper(g, deadline_ns)) timer_added(deadline_ns);
  park();  // off its heap again: nobody else ends a sleep
  // Here, not when its time came: waiting for a P is not running.
  g->runs_between_sleeps = static_cast<std::uint32_t>(os::ticks());
}

}  // namespace

void sleep_until(std::int64_t deadline_ns) noexcept {
  Processor* p = own_processor();
  if (p != nullptr && deadline_ns <= os::now_ns()) return yield();
  sleep_on(p, deadline_ns);
}

void sleep_for(std::int64_t ns) noexcept {
  Processor* p = own_processor();
  if (ns <= 0) return yield();
  const std::int64_t now = os::now_ns();
  sleep_on(p, ns >= os::kForever - now ? os::kForever : now + ns);
}

}  // namespace weft::sched
