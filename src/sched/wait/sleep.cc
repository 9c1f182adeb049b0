// SPDX-License-Identifier: MIT
#include "sched/wait/sleep.h"

#include <algorithm>

#include "os/note.h"
#include "sched/core/dispatch.h"
#include "sched/core/preempt.h"
#include "sched/core/watcher.h"
#include "sched/state/control.h"
#include "sched/state/process_end.h"

namespace weft::sched {
namespace {

// How long goroutines have run on p of late, on average: the sampled average or, before there is one, the time since
// the last sample divided by the dispatches since then.
std::uint64_t average_run_us(const Processor& p, std::uint64_t now) noexcept {
  const std::uint32_t average = p.average_ns.load_relaxed();
  if (WEFT_LIKELY(average != Processor::kUnknownAverage)) return average / 1000;
  const std::uint32_t dispatched = p.tick.load_relaxed() - p.turn_tick;
  return (now - p.sampled_at) / os::ticks_per_us() / std::max(dispatched, 1u);
}

// Notes how long g has run since its last sleep, and whether that was brief (a short runner). Before its first sleep, g
// is taken for as long-running as the goroutines that ran on p of late.
void note_run_between_sleeps(const Processor& p, Goroutine* g) noexcept {
  const std::uint64_t now = os::ticks();
  const std::uint64_t ran_us = WEFT_LIKELY(g->runs_between_sleeps != 0)
                                   ? (static_cast<std::uint32_t>(now) - g->runs_between_sleeps) / os::ticks_per_us()
                                   : average_run_us(p, now);
  g->runs_between_sleeps = static_cast<std::uint32_t>(std::min<std::uint64_t>(ran_us, UINT32_MAX));
  g->habits.note_run_before_sleep(ran_us);
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
  if (deadline_ns != os::kForever && heap_for(deadline_ns, p->timers).add_sleeper(g, deadline_ns))
    timer_added(deadline_ns);
  park();  // then g is off the timer heap, because only its timer ends a sleep
  // Read here, not when its time came, because the wait for a P in between is no running time.
  g->runs_between_sleeps = static_cast<std::uint32_t>(os::ticks());
}

}  // namespace

void sleep_until(std::int64_t deadline_ns) noexcept {
  Processor* p = regain_processor();
  if (p != nullptr && deadline_ns <= caller_now_ns()) return yield();
  sleep_on(p, deadline_ns);
}

void sleep_for(std::int64_t ns) noexcept {
  Processor* p = regain_processor();
  if (ns <= 0) return yield();
  const std::int64_t now = caller_now_ns();
  sleep_on(p, ns >= os::kForever - now ? os::kForever : now + ns);
}

}  // namespace weft::sched
